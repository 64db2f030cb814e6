/* AgentTwin's own script: keyboard, drafts, focus and announcements. Every page works without it.

   Markup speaks, this file only listens:
   data-key="o"            the key that presses this link, button or summary; several with blanks between
   data-key-label="…"      what the key list calls it (without one: the element's own text)
   data-nav-list           a list whose data-nav-item links or summaries j and k walk through
   data-draft="name"       a field whose text survives a lost session in this tab
   data-draft-clear="name" markup saying that the text was stored, so its draft is dropped
   data-announce="text"    markup whose text is read out when a swap brings it in
   data-focus              where focus goes after a swap, when it would otherwise be lost
   data-autosubmit         a form that is sent when one of its choices changes (only without htmx attributes)
   data-open-on-target     a <details> that opens when the address points into it
   details.act             a form behind its button: opening it by hand puts the focus into its first field
   html[data-script]       set here: hints of keys are shown only where this file listens (app.css) */
(function () {
  "use strict";

  document.documentElement.setAttribute("data-script", "");

  var DRAFT = "agenttwin-draft:";
  var leaving = false;

  function all(root, selector) {
    var found = Array.prototype.slice.call(root.querySelectorAll ? root.querySelectorAll(selector) : []);
    if (root.matches && root.matches(selector)) found.unshift(root);
    return found;
  }

  function visible(element) {
    return !element.disabled && element.getClientRects().length > 0;
  }

  /* ------------------------------------------------------------- keyboard */

  function isTyping(target) {
    if (!target || !target.closest) return false;
    if (target.isContentEditable) return true;
    var field = target.closest("input, textarea, select");
    return Boolean(field) && !/^(checkbox|radio|button|submit|reset)$/.test(field.type);
  }

  function currentList() {
    var lists = all(document, "[data-nav-list]").filter(visible);
    var focused = document.activeElement && document.activeElement.closest("[data-nav-list]");
    return focused || lists[0] || null;
  }

  function keysOf(element) {
    return element.getAttribute("data-key").split(" ");
  }

  function keyElement(key) {
    return all(document, "[data-key]").filter(function (element) {
      return keysOf(element).indexOf(key) >= 0 && visible(element);
    })[0];
  }

  function walk(list, step) {
    var items = all(list, "[data-nav-item]").filter(visible);
    if (!items.length) return false;
    var at = items.indexOf(document.activeElement);
    if (at < 0) at = items.findIndex(function (item) { return item.parentElement.contains(document.activeElement); });
    var next = at < 0 ? (step > 0 ? 0 : items.length - 1) : at + step;
    if (next < 0 || next >= items.length) return true;
    items[next].focus();
    items[next].scrollIntoView({ block: "nearest" });
    return true;
  }

  function press(element) {
    if (element.matches("input, textarea, select")) {
      element.focus();
      return;
    }
    element.click();
    if (element.matches("summary")) {
      // What it opens may lie far below what the person looks at.
      if (!focusFirstField(element.parentElement)) element.focus();
      element.parentElement.scrollIntoView({ block: "nearest" });
    }
  }

  // What is typed next belongs into the form: on the summary each letter of it would be a shortcut.
  function focusFirstField(details) {
    if (!details.open || !details.matches(".act")) return false;
    var field = all(details, "textarea, select, input").filter(visible)[0];
    if (field) field.focus();
    return Boolean(field);
  }

  document.addEventListener("click", function (event) {
    var summary = event.target.closest("details.act > summary");
    // The browser opens it only after this event; one that is closed again keeps the focus where it is.
    if (summary) setTimeout(function () { focusFirstField(summary.parentElement); }, 0);
  });

  document.addEventListener("keydown", function (event) {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "?") {
      if (openKeys()) event.preventDefault();
      return;
    }
    var list = currentList();
    var inList = list && list.contains(document.activeElement);
    var walks = event.key === "j" || event.key === "k";
    var element = keyElement(event.key);
    if (walks && list && (inList || !element)) {
      if (walk(list, event.key === "j" ? 1 : -1)) event.preventDefault();
    } else if (element) {
      event.preventDefault();
      press(element);
    }
  });

  function keyRows() {
    var rows = [];
    var list = currentList();
    var jumps = keyElement("j") || keyElement("k");
    if (list && all(list, "[data-nav-item]").filter(visible).length) {
      var where = jumps ? " (with focus in the list)" : "";
      rows.push(["j", "next in " + (list.getAttribute("data-nav-list") || "the list") + where]);
      rows.push(["k", "previous in " + (list.getAttribute("data-nav-list") || "the list") + where]);
    }
    var seen = {};
    all(document, "[data-key]").filter(visible).forEach(function (element) {
      var keys = element.getAttribute("data-key");
      if (seen[keys]) return;
      seen[keys] = true;
      rows.push([keys, element.getAttribute("data-key-label") || element.textContent.trim()]);
    });
    rows.push(["?", "this list"]);
    return rows;
  }

  function openKeys() {
    var dialog = document.getElementById("keys");
    if (!dialog || !dialog.showModal) return false;
    var rows = dialog.querySelector("dl");
    rows.textContent = "";
    keyRows().forEach(function (row) {
      var term = document.createElement("dt");
      row[0].split(" ").forEach(function (name) {
        var key = document.createElement("kbd");
        key.textContent = name;
        term.appendChild(key);
      });
      var meaning = document.createElement("dd");
      meaning.textContent = row[1];
      rows.appendChild(term);
      rows.appendChild(meaning);
    });
    dialog.showModal();
    return true;
  }

  document.addEventListener("click", function (event) {
    if (event.target.closest("[data-open-keys]")) openKeys();
    var closer = event.target.closest("[data-close]");
    if (closer) {
      var closed = closer.closest("dialog");
      if (closed) closed.close();
      else closer.closest(".notice").remove();
    }
    // A menu or a confirmation closes when the person goes on elsewhere.
    all(document, "details.menu[open], details.confirm[open]").forEach(function (details) {
      if (!details.contains(event.target)) details.open = false;
    });
  });

  document.addEventListener("keydown", function (event) {
    if (event.key !== "Escape") return;
    var details = event.target.closest && event.target.closest("details.menu[open], details.confirm[open]");
    if (details) {
      details.open = false;
      details.querySelector("summary").focus();
    }
  });

  /* --------------------------------------------------------------- drafts */

  // A draft is its author's: another person who logs in in this tab gets an empty form.
  function stored(name, text) {
    var key = DRAFT + document.body.getAttribute("data-person") + ":" + name;
    try {
      if (text === undefined) return sessionStorage.getItem(key);
      if (text) sessionStorage.setItem(key, text);
      else sessionStorage.removeItem(key);
    } catch (error) {
      /* Storage may be switched off; the page then simply keeps no drafts. */
    }
    return null;
  }

  document.addEventListener("input", function (event) {
    var name = event.target.getAttribute && event.target.getAttribute("data-draft");
    if (name) stored(name, event.target.value);
  });

  function restoreDrafts(root) {
    all(root, "[data-draft-clear]").forEach(function (element) {
      stored(element.getAttribute("data-draft-clear"), "");
    });
    all(root, "[data-draft]").forEach(function (field) {
      var text = stored(field.getAttribute("data-draft"));
      if (!text || field.value) return;
      field.value = text;
      var details = field.closest("details");
      if (details) details.open = true;
    });
  }

  /* ------------------------------------------- focus, announcements, swaps */

  var announcedAt = 0;

  // Two sentences in quick succession are read together; the second must not cut off the first.
  function announce(text) {
    var live = document.getElementById("live");
    if (!live || !text) return;
    var now = Date.now();
    live.textContent = now - announcedAt < 1000 && live.textContent !== text ? live.textContent + ". " + text : text;
    announcedAt = now;
  }

  function announceAll(root) {
    all(root, "[data-announce]").forEach(function (element) { announce(element.getAttribute("data-announce")); });
  }

  function openTarget() {
    var target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (var details = target.closest("details"); details; details = details.parentElement.closest("details")) {
      details.open = true;
    }
    if (target.matches("details")) target.open = true;
  }

  function settle(root) {
    restoreDrafts(root);
    all(root, "[data-enhanced]").forEach(function (element) { element.hidden = false; });
  }

  var focusedBefore = null;

  document.addEventListener("htmx:beforeSwap", function (event) {
    var active = document.activeElement;
    var target = event.detail.target;
    focusedBefore = active && target && target.contains(active) ? active.id || true : null;
  });

  document.addEventListener("htmx:afterSettle", function (event) {
    var root = event.detail.elt || event.detail.target;
    if (!root || !root.isConnected) return;
    settle(root);
    announceAll(root);
    var wanted = root.matches("[data-focus]") ? root : root.querySelector("[data-focus]");
    var lost = focusedBefore && (!document.activeElement || document.activeElement === document.body);
    if (wanted && (lost || wanted.getAttribute("data-focus") === "always")) focusOn(wanted);
    else if (lost) focusOn((focusedBefore !== true && document.getElementById(focusedBefore)) || root);
    focusedBefore = null;
  });

  function focusOn(element) {
    if (!element.matches("a[href], button, input, select, textarea, summary, [tabindex]")) {
      element.setAttribute("tabindex", "-1");
    }
    element.focus({ preventScroll: false });
  }

  /* ------------------------------------------------ failures of a request */

  function problem(text) {
    var box = document.getElementById("problems");
    if (leaving || !box) return;
    box.textContent = "";
    var notice = document.createElement("div");
    notice.className = "notice notice--bad row row--spread";
    var words = document.createElement("p");
    words.textContent = text;
    var close = document.createElement("button");
    close.type = "button";
    close.className = "btn btn--small";
    close.setAttribute("data-close", "");
    close.textContent = "Close";
    notice.appendChild(words);
    notice.appendChild(close);
    box.appendChild(notice);
  }

  document.addEventListener("htmx:responseError", function (event) {
    var status = event.detail.xhr.status;
    if (status === 401) return; // the answer itself leads to the login page
    if (status === 403) problem("This was refused (403). Your text is still here; reload the page and try again.");
    else if (status === 404) problem("This is no longer there (404). Reload the page to see what changed.");
    else if (status === 503) problem("The database does not answer right now (503). Your text is still here; try again in a moment.");
    else problem("The server could not do this (" + status + "). Your text is still here; try again.");
  });

  document.addEventListener("htmx:sendError", function () {
    problem("The server cannot be reached. Your text is still here; try again in a moment.");
  });

  document.addEventListener("htmx:afterRequest", function (event) {
    var box = document.getElementById("problems");
    if (event.detail.successful && box) box.textContent = "";
  });

  // A request cut off by leaving the page is no failure to report.
  window.addEventListener("pagehide", function () { leaving = true; });
  window.addEventListener("pageshow", function () { leaving = false; });
  window.addEventListener("hashchange", openTarget);

  document.addEventListener("change", function (event) {
    var form = event.target.form;
    if (form && form.hasAttribute("data-autosubmit") && event.target.matches("select, [type=checkbox], [type=radio]")) {
      form.requestSubmit();
    }
  });

  document.addEventListener("DOMContentLoaded", function () {
    settle(document.documentElement);
    var messages = document.getElementById("messages");
    if (messages) announceAll(messages);
    openTarget();
  });
})();
