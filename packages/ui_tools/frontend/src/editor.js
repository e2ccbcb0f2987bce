import { EditorView, basicSetup } from "codemirror";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { keymap, placeholder } from "@codemirror/view";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { sql } from "@codemirror/lang-sql";
import { tags } from "@lezer/highlight";
import { quoted } from "./parts/completion.js";
import { dialectOf, kindsOfWords } from "./parts/dialects.js";
import { markAt, marks } from "./parts/marks.js";
import { proposals } from "./parts/proposals.js";

// <ui-sql dialect quotes schema schema-url follow run mark> around a <textarea>, which stays the form's field and, without this, the editor.
// It sends sql:run when somebody presses Ctrl+Enter, and sql:schema when it knows the tables; insert() puts text where the cursor is.
const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--tblr-purple)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--tblr-green)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--tblr-orange)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--tblr-azure)" },
  { tag: tags.comment, color: "var(--tblr-secondary)", fontStyle: "italic" },
]);
const LOOK = EditorView.theme({
  "&": { backgroundColor: "transparent", color: "inherit", fontSize: ".8125rem" },
  ".cm-scroller": { fontFamily: "var(--tblr-font-monospace)", lineHeight: "1.6" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--tblr-secondary)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--tblr-active-bg)" },
  ".cm-cursor": { borderLeftColor: "currentColor" },
  "&.cm-focused": { outline: "none" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--tblr-primary) 28%, transparent)" },
  ".cm-tooltip": { border: "1px solid var(--tblr-border-color)", borderRadius: "var(--tblr-border-radius)", backgroundColor: "var(--tblr-bg-surface)", color: "var(--tblr-body-color)" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--tblr-font-monospace)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--tblr-primary)", color: "#fff" },
  ".cm-tooltip-autocomplete .cm-completionDetail": { marginLeft: ".75em", fontStyle: "normal", opacity: ".75" },
  ".cm-tooltip-autocomplete .cm-completionIcon": { width: "1.25em", paddingRight: ".375em" },
  ".cm-mistaken-line": { backgroundColor: "color-mix(in srgb, var(--tblr-red) 9%, transparent)" },
  ".cm-mistake": { textDecoration: "underline wavy var(--tblr-red)", textUnderlineOffset: "3px", backgroundColor: "color-mix(in srgb, var(--tblr-red) 16%, transparent)" },
  ".cm-placeholder": { color: "var(--tblr-secondary)" },
  ".cm-panels": { backgroundColor: "var(--tblr-bg-surface)", color: "inherit" },
  ".cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--tblr-primary) 22%, transparent) !important" },
});

class SqlEditor extends HTMLElement {
  static observedAttributes = ["dialect", "quotes", "schema", "schema-url", "mark"];

  async connectedCallback() {
    this.area = this.querySelector("textarea");
    // line numbers are placed by measured heights: the font must be there first
    await document.fonts.load('13px "JetBrains Mono Variable"').catch(() => {});
    if (!this.area || this.view || !this.isConnected) return;
    this.language = new Compartment();
    this.schema = readJson(this.getAttribute("schema"));
    this.view = new EditorView({ state: EditorState.create({ doc: this.area.value, extensions: this.extensions() }) });
    this.view.dom.style.minHeight = `${this.area.offsetHeight}px`; // the page below stays where it is
    this.area.hidden = true;
    this.area.after(this.view.dom);
    this.area.addEventListener("change", () => this.take()); // a script put another text into the field
    this.querySelector("[data-format]")?.addEventListener("click", () => this.format());
    for (const label of this.area.labels) label.addEventListener("click", () => this.view.focus());
    this.followSource();
    this.loadSchema();
    markAt(this.view, this.getAttribute("mark"));
  }

  disconnectedCallback() {
    this.view?.destroy();
    this.view = undefined;
    if (this.area) this.area.hidden = false;
  }

  attributeChangedCallback(name) {
    if (!this.view) return;
    if (name === "schema-url") return void this.loadSchema();
    if (name === "mark") return void markAt(this.view, this.getAttribute("mark"));
    this.schema = readJson(this.getAttribute("schema"));
    this.applyLanguage();
  }

  extensions() {
    const keys = [
      { key: "Mod-Enter", run: () => this.run() },
      { key: "Shift-Alt-f", run: () => { this.format(); return true; } },
    ];
    return [
      Prec.highest(keymap.of(keys)), proposals(() => this.known()), marks, basicSetup, LOOK, syntaxHighlighting(COLOURS), EditorView.lineWrapping,
      EditorView.cspNonce.of(document.querySelector("meta[name=csp-nonce]")?.content ?? ""),
      EditorView.editorAttributes.of({ class: this.frame() }), // what is set from outside is lost with the next focus
      this.language.of(this.support()),
      placeholder(this.area.placeholder),
      EditorState.readOnly.of(this.area.readOnly), EditorView.editable.of(!this.area.readOnly && !this.area.disabled),
      EditorView.contentAttributes.of(this.description()),
      EditorView.updateListener.of(({ docChanged }) => { if (docChanged) this.store(); }),
    ];
  }

  frame() {
    return `form-control ui-sql-editor${this.area.classList.contains("is-invalid") ? " is-invalid" : ""}`;
  }

  description() {
    const named = this.area.labels[0]?.textContent.trim() || this.area.getAttribute("aria-label") || "SQL";
    const by = this.area.getAttribute("aria-describedby");
    return { "aria-label": named, ...(by ? { "aria-describedby": by } : {}) };
  }

  support() {
    this.dialect = dialectOf(this.getAttribute("dialect"), this.getAttribute("quotes"));
    return sql({ dialect: this.dialect });
  }

  // what there is to propose
  known() {
    return { schema: this.schema, functions: this.functions ?? [], words: kindsOfWords(this.dialect), ...this.quoting() };
  }

  quoting() {
    const quotes = this.dialect.spec.identifierQuotes ?? '"';
    return { quote: quotes.includes('"') ? '"' : quotes[0], foldsCase: this.getAttribute("dialect")?.toLowerCase() === "postgresql" };
  }

  // a name, with its schema or without, as the database reads it
  spell(name) {
    const { quote, foldsCase } = this.quoting();
    return (Object.hasOwn(this.schema, name) ? name.split(".") : [name]).map((part) => quoted(part, quote, foldsCase)).join(".");
  }

  insert(text) {
    const { from, to } = this.view.state.selection.main;
    const isApart = !/[\p{L}\p{N}_$)]$/u.test(this.view.state.sliceDoc(Math.max(0, from - 1), from));
    this.view.dispatch({ ...this.view.state.replaceSelection(isApart ? text : ` ${text}`), scrollIntoView: true, userEvent: "input" });
    this.view.focus();
  }

  applyLanguage() {
    this.view.dispatch({ effects: this.language.reconfigure(this.support()) });
  }

  store() {
    this.area.value = this.view.state.doc.toString();
    this.area.dispatchEvent(new Event("input", { bubbles: true }));
  }

  take() {
    const text = this.area.value;
    if (this.view && text !== this.view.state.doc.toString()) this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  // The form's select of sources tells dialect and schema: <option data-dialect="…" data-quotes="…" data-schema-url="…">
  followSource() {
    const select = this.getAttribute("follow") && document.querySelector(this.getAttribute("follow"));
    if (!select) return;
    const follow = () => {
      const { dialect, quotes = "", schemaUrl } = select.selectedOptions[0]?.dataset ?? {};
      if (dialect) {
        this.setAttribute("quotes", quotes);
        this.setAttribute("dialect", dialect);
      }
      if (schemaUrl) this.setAttribute("schema-url", schemaUrl);
    };
    select.addEventListener("change", follow);
    follow();
  }

  async loadSchema() {
    const url = this.getAttribute("schema-url");
    if (!url) return;
    this.tell({ state: "loading" });
    const answer = await fetch(url, { headers: { Accept: "application/json" } }).catch(() => undefined);
    const body = await answer?.json().catch(() => undefined);
    if (!this.view || url !== this.getAttribute("schema-url")) return; // another source was chosen meanwhile
    [this.schema, this.functions] = answer?.ok && body ? [body.tables ?? body, body.functions ?? []] : [{}, []];
    this.tell(answer?.ok ? { state: "ready", tables: this.schema } : { state: "failed", reason: typeof body?.detail === "string" ? body.detail : "" });
  }

  tell(detail) {
    this.dispatchEvent(new CustomEvent("sql:schema", { bubbles: true, detail }));
  }

  async format() {
    const { formatSql } = await import("./parts/format.js");
    try {
      const text = formatSql(this.view.state.doc.toString(), this.getAttribute("dialect"));
      this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
    } catch {
      document.dispatchEvent(new CustomEvent("toast", { detail: { text: "This SQL could not be formatted: it does not parse.", level: "warning" } }));
    }
  }

  run() {
    const event = new CustomEvent("sql:run", { bubbles: true, cancelable: true, detail: { sql: this.view.state.doc.toString() } });
    const button = this.getAttribute("run") && document.querySelector(this.getAttribute("run"));
    if (this.dispatchEvent(event)) button?.click();
    return true;
  }
}

function readJson(text) {
  try { return JSON.parse(text ?? "{}"); } catch { return {}; }
}

customElements.define("ui-sql", SqlEditor);
