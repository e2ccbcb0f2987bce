import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";

// The place that an error is about, until the text is changed.
const setMark = StateEffect.define();

export const marks = StateField.define({
  create: () => Decoration.none,
  update(shown, { docChanged, effects }) {
    const effect = effects.find((one) => one.is(setMark));
    if (effect) return effect.value ? Decoration.set(effect.value) : Decoration.none;
    return docChanged ? Decoration.none : shown;
  },
  provide: (field) => EditorView.decorations.from(field),
});

// "3:14" is the 14th character of the third line; nothing takes the mark away.
export function markAt(view, place) {
  const [line, column] = (place ?? "").split(":").map(Number);
  if (!(line >= 1 && line <= view.state.doc.lines)) return view.dispatch({ effects: setMark.of(null) });
  const { from, to } = view.state.doc.line(line);
  const at = Math.min(from + Math.max(1, column || 1) - 1, to);
  const end = Math.max(view.state.wordAt(at)?.to ?? at + 1, at + 1);
  const ranges = [Decoration.line({ class: "cm-mistaken-line" }).range(from)];
  if (at < to) ranges.push(Decoration.mark({ class: "cm-mistake" }).range(at, Math.min(end, to)));
  return view.dispatch({ effects: [setMark.of(ranges), EditorView.scrollIntoView(at, { y: "nearest", yMargin: 24 })] });
}
