import { type Html, html } from '../../../runtime/html.js';
import type { ApiDocument } from '../document.js';
import { prose } from './prose.js';
import { choicesOf, referredName, type Schema, schemaOf } from './reading.js';

/** Renders the fields of a schema as a nested list. Named schemas are links. */
export function shape(document: ApiDocument, schema: Schema): Html {
  const name = referredName(schema);
  if (name !== null) return html`<p>${typeOf(document, schema)}</p>`;
  const { choices } = choicesOf(schemaOf(document, schema));
  return choices.length > 1 ? html`<p>${typeOf(document, schema)}</p>` : fields(document, schema);
}

/** Renders the fields below a named schema or a field. Alternatives are shown by the type of the field. */
export function fields(document: ApiDocument, schema: Schema): Html {
  const own = schemaOf(document, schema);
  if (own.allOf !== undefined) return html`${own.allOf.map((part) => shape(document, part))}`;
  const { choices } = choicesOf(own);
  if (choices.length > 1) return html``;
  const only = choices[0];
  if (only !== undefined && only !== own) return shape(document, only);
  if (own.items !== undefined && referredName(own.items) === null) return fields(document, own.items);
  const properties = Object.entries(own.properties ?? {});
  if (properties.length === 0) return html``;
  const rows = properties.map(([name, property]) => field(document, name, property, own.required ?? []));
  return html`<ul class="fields">${rows}</ul>`;
}

function field(document: ApiDocument, name: string, schema: Schema, required: readonly string[]): Html {
  const needed = required.includes(name) ? null : html`<span class="soft">, optional</span>`;
  const below = nested(document, schema);
  return html`<li><code class="name">${name}</code> <span class="type">${typeOf(document, schema)}</span>${needed}${note(schema)}${below}</li>`;
}

function nested(document: ApiDocument, schema: Schema): Html | null {
  if (referredName(schema) !== null) return null;
  const { choices } = choicesOf(schemaOf(document, schema));
  const only = choices.length === 1 ? choices[0] : undefined;
  if (only === undefined || referredName(only) !== null) return null;
  const made = fields(document, only);
  return made.text === '' ? null : made;
}

function note(schema: Schema): Html | null {
  const facts = [
    schema.description,
    'maxLength' in schema ? `At most ${schema.maxLength} characters.` : undefined,
    'default' in schema ? `Default ${JSON.stringify(schema.default)}.` : undefined,
  ].filter((fact) => fact !== undefined && fact !== '');
  return facts.length === 0 ? null : html`<span class="note">${prose(facts.join(' '))}</span>`;
}

/** Renders a type: `string`, `list of Investment`, `string or null`, `active | canceled`. */
export function typeOf(document: ApiDocument, schema: Schema): Html {
  const name = referredName(schema);
  if (name !== null) return html`<a href="#schema-${name}">${name}</a>`;
  const own = schema as Exclude<Schema, { $ref: string }>;
  const { choices, nullable } = choicesOf(own);
  const parts = choices.map((choice) => (choice === own ? plain(document, own) : typeOf(document, choice)));
  if (parts.length === 0) return html`null`;
  const joined = parts.reduce((all, part) => html`${all} or ${part}`);
  return nullable ? html`${joined} or null` : joined;
}

function plain(document: ApiDocument, schema: Exclude<Schema, { $ref: string }>): Html {
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum !== undefined) {
    const names = schema.enum.map((value) => html`<code>${String(value)}</code>`);
    return names.reduce((all, part) => html`${all} | ${part}`);
  }
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type;
  if (type === 'array') {
    return schema.items === undefined ? html`list` : html`list of ${typeOf(document, schema.items)}`;
  }
  if (schema.format === 'date-time') return html`time`;
  return html`${type ?? 'anything'}`;
}
