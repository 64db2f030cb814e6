// The pages of the API: Swagger UI on our own description. Nothing is asked of another host.
"use strict";

const place = document.getElementById("docs");

SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "list",
  // Its validator badge would ask another host.
  validatorUrl: null,
  // A session in the browser needs the CSRF token for writes.
  requestInterceptor: (request) => {
    const token = document.cookie.match(/(?:^|;\s*)csrftoken=([^;]+)/);
    if (token && request.method && request.method !== "GET") {
      request.headers["X-CSRFToken"] = token[1];
    }
    return request;
  },
});
