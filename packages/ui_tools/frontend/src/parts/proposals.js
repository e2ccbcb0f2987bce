import { acceptCompletion, autocompletion, closeCompletion, completionStatus, moveCompletionSelection, pickedCompletion, startCompletion } from "@codemirror/autocomplete";
import { Prec } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { propose } from "./completion.js";

// The list of proposals beside the text. Tab takes one; Enter does only for those who asked for the list or walked in it,
// because for all others it ends a line.
export function proposals(known) {
  let isMeant = false;
  const mean = (command) => (view) => {
    const isDone = command(view);
    isMeant ||= isDone;
    return isDone;
  };
  const keys = [
    { key: "Ctrl-Space", run: mean(startCompletion) },
    { mac: "Alt-`", run: mean(startCompletion) },
    { key: "ArrowDown", run: mean(moveCompletionSelection(true)) },
    { key: "ArrowUp", run: mean(moveCompletionSelection(false)) },
    { key: "PageDown", run: mean(moveCompletionSelection(true, "page")) },
    { key: "PageUp", run: mean(moveCompletionSelection(false, "page")) },
    { key: "Enter", run: (view) => isMeant && acceptCompletion(view) },
    { key: "Tab", run: acceptCompletion },
    { key: "Escape", run: closeCompletion },
  ];
  return [
    autocompletion({ defaultKeymap: false, override: [sourceOf(known)], icons: true, maxRenderedOptions: 60 }),
    Prec.highest(keymap.of(keys)),
    EditorView.updateListener.of(({ state }) => { if (!completionStatus(state)) isMeant = false; }),
  ];
}

function sourceOf(known) {
  return ({ state, pos, explicit }) => {
    const found = propose(state.doc.toString(), pos, { ...known(), isAsked: explicit });
    if (!found) return null;
    return { from: found.from, options: found.options.map((option) => ({ ...option, apply })), filter: false, getMatch: (option) => matched(option, state.sliceDoc(found.from, pos)) };
  };
}

function matched({ label }, typed) {
  const at = typed ? label.toLowerCase().indexOf(typed.toLowerCase()) : -1;
  return at < 0 ? [] : [at, at + typed.length];
}

function apply(view, completion, from, to) {
  const { label, insert = label, caret = 0 } = completion;
  const isCalled = caret < 0 && view.state.sliceDoc(to, to + 1) === "("; // its brackets are there
  const text = isCalled ? insert.slice(0, -2) : insert;
  const anchor = from + text.length + (isCalled ? 1 : caret);
  view.dispatch({ changes: { from, to, insert: text }, selection: { anchor }, scrollIntoView: true, userEvent: "input.complete", annotations: pickedCompletion.of(completion) });
}
