import "./app/copy.js";
import "./app/htmx.js";
import "./app/icons.js";
import "./app/settings.js";
import "./app/times.js";
import { toast, adopt } from "./app/toasts.js";

adopt();
document.addEventListener("toast", (event) => toast(event.detail.text ?? event.detail.value, event.detail.level));
