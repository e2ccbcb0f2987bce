// app.css knows the icons of src/icons.txt; the first page that shows another one fetches the rest.
const rest = document.querySelector("meta[name=more-icons]")?.content;
let loaded = !rest;

function check(within) {
  if (loaded) return;
  for (const icon of within.querySelectorAll(".fas, .fa-solid")) {
    if (getComputedStyle(icon).getPropertyValue("--fa")) continue;
    loaded = true;
    document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: rest }));
    return;
  }
}

check(document);
document.addEventListener("htmx:afterSettle", ({ target }) => check(target));
