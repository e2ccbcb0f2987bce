import htmx from "htmx.org";
import { toast } from "./toasts.js";

// the page's CSP allows neither eval nor injected styles
Object.assign(htmx.config, { allowEval: false, includeIndicatorStyles: false, selfRequestsOnly: true, historyCacheSize: 0 });
window.htmx = htmx;

document.addEventListener("htmx:configRequest", ({ detail }) => {
  const token = document.querySelector("meta[name=csrf-token]")?.content;
  if (token && detail.verb !== "get") detail.headers["X-CSRF-Token"] = token;
});

document.addEventListener("htmx:responseError", ({ detail: { xhr } }) => {
  if (xhr.status === 401) return location.reload(); // the session ended: the page leads to the login
  toast(reason(xhr) ?? `That did not work (${xhr.status}).`, "error");
});
document.addEventListener("htmx:sendError", () => toast("The server did not answer. Is it running?", "error"));

function reason(xhr) {
  try {
    const { detail } = JSON.parse(xhr.responseText);
    return typeof detail === "string" ? detail : detail?.[0]?.msg;
  } catch { return undefined; }
}
