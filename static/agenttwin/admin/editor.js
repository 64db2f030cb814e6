// Line numbers beside the text of a document, and links from a problem to its line.
// Without this script the page works the same: each problem shows its line and the text around it.
"use strict";

(() => {
  const LINE_HEIGHT = 20; // as in documents.css
  const PADDING = 8;

  /** Draws only the numbers in view: a document may have tens of thousands of lines. */
  function addGutter(box, textarea, marked) {
    const gutter = document.createElement("div");
    gutter.className = "at-gutter";
    gutter.setAttribute("aria-hidden", "true");
    box.prepend(gutter);

    let lines = 1;
    const draw = () => {
      const first = Math.max(1, Math.floor((textarea.scrollTop - PADDING) / LINE_HEIGHT));
      const last = Math.min(lines, first + Math.ceil(textarea.clientHeight / LINE_HEIGHT) + 1);
      const numbers = document.createDocumentFragment();
      for (let line = first; line <= last; line += 1) {
        const number = document.createElement("span");
        number.textContent = String(line);
        number.style.top = `${PADDING + (line - 1) * LINE_HEIGHT - textarea.scrollTop}px`;
        if (marked.has(line)) number.className = "at-marked";
        numbers.append(number);
      }
      gutter.replaceChildren(numbers);
    };
    const recount = () => {
      lines = textarea.value.split("\n").length;
      gutter.style.width = `${Math.max(44, 20 + 9 * String(lines).length)}px`;
      draw();
    };
    textarea.addEventListener("input", recount);
    textarea.addEventListener("scroll", draw);
    new ResizeObserver(draw).observe(textarea);
    recount();
  }

  function goToLine(textarea, line) {
    const before = textarea.value.split("\n").slice(0, line - 1);
    const start = before.reduce((sum, text) => sum + text.length + 1, 0);
    const end = textarea.value.indexOf("\n", start);
    textarea.focus();
    textarea.setSelectionRange(start, end === -1 ? textarea.value.length : end);
    textarea.scrollTop = Math.max(0, (line - 6) * LINE_HEIGHT);
    textarea.scrollIntoView({ block: "center" });
  }

  /** A page left by mistake asks first, once something was typed and not stored. */
  function guardTypedText(textarea) {
    const original = textarea.value;
    const unsaved = textarea.dataset.unsaved === "yes";
    let submitting = false;
    textarea.form.addEventListener("submit", () => { submitting = true; });
    window.addEventListener("beforeunload", (event) => {
      if (!submitting && (unsaved || textarea.value !== original)) event.preventDefault();
    });
  }

  /** What was sent but not stored (the session had expired, the server was away) can be had back. */
  function keepDraft(textarea) {
    const key = `agenttwin-draft:${window.location.pathname}`;
    textarea.form.addEventListener("submit", () => {
      try { sessionStorage.setItem(key, textarea.value); } catch { /* too large to keep: nothing to offer later */ }
    });
    const draft = sessionStorage.getItem(key);
    if (draft === null) return;
    const stored = document.querySelector(".messagelist .success") !== null;
    if (stored || draft === textarea.value) {
      sessionStorage.removeItem(key);
      return;
    }
    const offer = document.createElement("button");
    offer.type = "button";
    offer.className = "button at-restore";
    offer.textContent = "Bring back the text you sent, which was not saved";
    offer.addEventListener("click", () => {
      textarea.value = draft;
      textarea.dispatchEvent(new Event("input"));
      sessionStorage.removeItem(key);
      offer.remove();
      textarea.focus();
    });
    textarea.form.before(offer);
  }

  document.addEventListener("DOMContentLoaded", () => {
    const box = document.querySelector("[data-editor]");
    if (!box) return;
    const textarea = box.querySelector("textarea");
    const marked = new Set(textarea.dataset.marked.split(" ").filter(Boolean).map(Number));
    addGutter(box, textarea, marked);
    if (textarea.form) {
      guardTypedText(textarea);
      keepDraft(textarea);
    }
    for (const link of document.querySelectorAll(".at-line-link")) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        goToLine(textarea, Number(link.dataset.line));
      });
    }
  });
})();
