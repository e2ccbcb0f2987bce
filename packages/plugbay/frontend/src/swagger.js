import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";

const element = document.getElementById("swagger");
const token = document.querySelector("meta[name=csrf-token]")?.content;
const paint = () => document.documentElement.classList.toggle("dark-mode", document.documentElement.dataset.bsTheme === "dark");

paint();
document.addEventListener("themechange", paint);
SwaggerUI({
  domNode: element,
  url: element.dataset.url,
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  requestInterceptor: (request) => {
    if (token && new URL(request.url, location.href).origin === location.origin) request.headers["X-CSRF-Token"] = token;
    return request;
  },
});
