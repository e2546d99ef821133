// The editor of the SQL page: CodeMirror, which the build bundles into this file. It lives in a shadow root, where its
// styles are constructed style sheets, which the content security policy of the page allows.
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  ifNotIn,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { PostgreSQL, SQLite, sql } from '@codemirror/lang-sql';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { setDiagnostics } from '@codemirror/lint';
import { EditorState, Prec } from '@codemirror/state';
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const theme = EditorView.theme({
  '&': { backgroundColor: 'var(--paper)', color: 'var(--ink)', fontSize: '0.9rem' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': {
    fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace',
    lineHeight: '1.55',
    minHeight: '15rem',
    maxHeight: '32rem',
  },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-gutters': {
    backgroundColor: 'var(--raised)',
    color: 'var(--soft)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-ground)',
  },
  '.cm-matchingBracket': { backgroundColor: 'var(--accent-ground)', outline: '1px solid var(--strong-line)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--paper)',
    color: 'var(--ink)',
    border: '1px solid var(--strong-line)',
    borderRadius: '6px',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent)',
    color: 'var(--on-accent)',
  },
  '.cm-completionDetail': { color: 'inherit', fontStyle: 'normal', opacity: '0.8' },
  '.cm-completionInfo': { maxWidth: '24rem', font: '0.85rem/1.45 system-ui, sans-serif' },
  // Instead of an image in the style sheet, which the policy does not allow.
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--attention)',
    textUnderlineOffset: '3px',
  },
  '.cm-diagnostic': { borderLeft: '4px solid var(--attention)' },
});

const colors = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--second)' },
  { tag: tags.comment, color: 'var(--soft)', fontStyle: 'italic' },
]);

const dialects = { sqlite: SQLite, postgres: PostgreSQL };

/**
 * Replaces a selection by what is typed over it. The browser would do that with an inline style, which the policy of the
 * page refuses with a complaint.
 */
const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { from, to, empty } = view.state.selection.main;
    const { data } = event;
    if (event.inputType !== 'insertText' || data === null || empty || event.isComposing) return false;
    event.preventDefault();
    const typed = () =>
      view.state.update(view.state.replaceSelection(data), { scrollIntoView: true, userEvent: 'input.type' });
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handle) => handle(view, from, to, data, typed))) view.dispatch(typed());
    return true;
  },
});

/** Offers the columns of the tables that the statement names, also where no table stands before the column. */
function columnsOf(tables) {
  return (context) => {
    const word = context.matchBefore(/[\w$]*/);
    if (word.from === word.to && !context.explicit) return null;
    if (context.state.sliceDoc(word.from - 1, word.from) === '.') return null;
    const words = new Set(
      context.state.doc
        .toString()
        .toLowerCase()
        .match(/[\w$]+/g),
    );
    const options = new Map();
    for (const { name, columns } of tables)
      if (words.has(name))
        for (const column of columns)
          if (!options.has(column.name))
            options.set(column.name, {
              label: column.name,
              type: 'property',
              detail: `${column.type}, ${name}`,
              info: column.meaning,
              boost: 1,
            });
    return { from: word.from, options: [...options.values()], validFor: /^[\w$]*$/ };
  };
}

/**
 * Creates the editor in `host`, a focusable element with an id of its own. Tab leaves the editor; Escape closes the list
 * of completions.
 */
export function createEditor({ host, text, cursor, tables, dialect, label, onChange, onRun }) {
  const shadow = host.attachShadow({ mode: 'open', delegatesFocus: true });
  const schema = Object.fromEntries(
    tables.map(({ name, meaning, columns }) => [
      name,
      {
        self: { label: name, type: 'type', info: meaning },
        children: columns.map((column) => ({
          label: column.name,
          type: 'property',
          detail: column.type,
          info: column.meaning,
        })),
      },
    ]),
  );
  const support = sql({ dialect: dialects[dialect] ?? SQLite, schema, upperCaseKeywords: true });
  const noNames = ['String', 'LineComment', 'BlockComment'];
  const run = () => {
    onRun();
    return true;
  };
  const view = new EditorView({
    root: shadow,
    parent: shadow,
    state: EditorState.create({
      doc: text,
      selection: { anchor: cursor },
      extensions: [
        Prec.highest(keymap.of([{ key: 'Mod-Enter', run }])),
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ maxRenderedOptions: 60 }),
        support,
        support.language.data.of({ autocomplete: ifNotIn(noNames, columnsOf(tables)) }),
        syntaxHighlighting(colors),
        typedOver,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', autocapitalize: 'off' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(view.state.doc.toString());
        }),
        keymap.of([...completionKeymap, ...closeBracketsKeymap, ...historyKeymap, ...defaultKeymap]),
        theme,
      ],
    }),
  });
  return {
    get text() {
      return view.state.doc.toString();
    },
    set text(value) {
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: value },
        selection: { anchor: 0 },
      });
    },
    insert(word) {
      view.dispatch(view.state.replaceSelection(word));
      view.focus();
    },
    /** Marks the place of an error and puts the cursor there. */
    mark(from, length, message) {
      const size = view.state.doc.length;
      const start = Math.min(from, size);
      const end = Math.min(size, start + length);
      view.dispatch(setDiagnostics(view.state, [{ from: start, to: end, severity: 'error', message }]));
      view.dispatch({ selection: { anchor: start } });
    },
    focus: () => view.focus(),
  };
}
