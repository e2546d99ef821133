/** Text that is already HTML. Only the `html` tag creates it, so that no unescaped text reaches a page by accident. */
export class Html {
  constructor(readonly text: string) {}
}

export type HtmlPart = string | number | Html | readonly Html[] | null;

/** Escapes the values of a template unless they are `Html`; null renders as nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlPart[]): Html {
  let text = strings[0] ?? '';
  values.forEach((value, index) => {
    text += written(value) + (strings[index + 1] ?? '');
  });
  return new Html(text);
}

function written(value: HtmlPart): string {
  if (value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map((part) => part.text).join('');
  return escapeHtml(String(value));
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (letter) => escapes[letter] ?? '');
