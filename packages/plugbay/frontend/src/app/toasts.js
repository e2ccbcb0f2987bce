// Messages in the lower corner. Those of the server are in the page already and work without this file.
const STAYS_MS = 8000;
const ICONS = { success: "fa-circle-check", info: "fa-circle-info", warning: "fa-triangle-exclamation", error: "fa-circle-exclamation" };
const region = () => document.getElementById("messages");

export function adopt() {
  for (const message of region()?.children ?? []) arm(message);
}

export function toast(text, level = "info") {
  const message = document.createElement("div");
  message.className = `message message-${level}`;
  message.setAttribute("role", level === "error" ? "alert" : "status");
  const icon = Object.assign(document.createElement("i"), { className: `fas ${ICONS[level] ?? ICONS.info}` });
  const words = Object.assign(document.createElement("div"), { className: "message-text", textContent: text });
  const close = Object.assign(document.createElement("button"), { type: "button", className: "btn-close" });
  close.setAttribute("aria-label", "Close");
  message.append(icon, words, close);
  region()?.append(message);
  arm(message);
}

// Success and news leave by themselves, but never while someone reads or holds them; trouble stays until it is closed.
function arm(message) {
  message.querySelector(".btn-close").addEventListener("click", () => message.remove());
  if (!message.matches(".message-success, .message-info")) return;
  let timer;
  const start = () => { timer = setTimeout(() => message.remove(), STAYS_MS); };
  const hold = () => clearTimeout(timer);
  for (const name of ["pointerenter", "focusin"]) message.addEventListener(name, hold);
  for (const name of ["pointerleave", "focusout"]) message.addEventListener(name, start);
  start();
}
