import type { oas31 } from 'zod-openapi';
import { type Html, html } from '../../../runtime/html.js';
import { idempotencyKeyHeader } from '../../../wire/headers.js';
import type { ApiDocument } from '../document.js';
import { exampleOf } from './example.js';
import { prose } from './prose.js';
import { parameterOf, responseOf, type Schema } from './reading.js';
import { shape, typeOf } from './shape.js';

export interface ListedOperation {
  readonly method: string;
  readonly path: string;
  readonly item: oas31.OperationObject;
}

/** One operation as a collapsed section: the summary line shows method and path, the body all details. */
export function operationSection(document: ApiDocument, { method, path, item }: ListedOperation): Html {
  return html`<details class="operation" id="${item.operationId ?? ''}">
<summary><span class="method ${method.toLowerCase()}">${method}</span> <code class="path">${path}</code> <span class="does">${prose(item.summary ?? '')}</span>${flags(item)}</summary>
${item.description === undefined ? null : html`<p>${prose(item.description)}</p>`}
${method === 'EVENT' ? null : scopes(item)}
${parameters(document, item)}
${body(document, item)}
${responses(document, item)}
</details>`;
}

function flags(item: oas31.OperationObject): Html | null {
  const removed = item['x-removed-in-version'];
  const names = [
    item['x-beta'] === true ? 'Beta' : undefined,
    removed === undefined ? undefined : `Removed in ${removed}`,
    item.deprecated === true && removed === undefined ? 'Deprecated' : undefined,
  ].filter((name) => name !== undefined);
  return names.length === 0 ? null : html`${names.map((name) => html` <span class="flag">${name}</span>`)}`;
}

function scopes(item: oas31.OperationObject): Html {
  const needed = item['x-scopes'] as readonly string[] | undefined;
  if (needed === undefined) return html`<p class="soft">No credential is needed.</p>`;
  if (needed.length === 0)
    return html`<p class="soft">Any valid token. What it may do depends on its owner.</p>`;
  const list = needed
    .map((scope) => html`<code>${scope}</code>`)
    .reduce((all, one) => html`${all} or ${one}`);
  return html`<p>Scope: ${list}</p>`;
}

function parameters(document: ApiDocument, item: oas31.OperationObject): Html | null {
  const all = (item.parameters ?? [])
    .map((parameter) => parameterOf(document, parameter))
    // The version header applies to every operation and is documented once.
    .filter(({ name, in: place }) => place !== 'header' || name === idempotencyKeyHeader);
  if (all.length === 0) return null;
  const rows = all.map((parameter) => {
    const optional = parameter.required === true ? null : html`<span class="soft">, optional</span>`;
    const type = parameter.schema === undefined ? null : typeOf(document, parameter.schema);
    const words = parameter.description ?? (parameter.schema as { description?: string }).description;
    const note = words === undefined ? null : html`<span class="note">${prose(words)}</span>`;
    return html`<li><code class="name">${parameter.name}</code> <span class="type">in ${parameter.in}, ${type}</span>${optional}${note}</li>`;
  });
  return html`<h4>Parameters</h4><ul class="fields">${rows}</ul>`;
}

function body(document: ApiDocument, item: oas31.OperationObject): Html | null {
  const request = item.requestBody;
  if (request === undefined || !('content' in request)) return null;
  return html`${Object.entries(request.content).map(
    ([type, { schema, example }]) =>
      html`<h4>Body <span class="soft">${type}</span></h4>${content(document, type, schema, example)}`,
  )}`;
}

function responses(document: ApiDocument, item: oas31.OperationObject): Html {
  const all = Object.entries(item.responses ?? {}) as [
    string,
    oas31.ResponseObject | oas31.ReferenceObject,
  ][];
  const own = all.filter(([, response]) => !('$ref' in response));
  const shared = all.filter(([, response]) => '$ref' in response);
  const shown = own.map(([status, response]) => {
    const { description, content: kinds = {} } = responseOf(document, response);
    const parts = Object.entries(kinds).map(([type, { schema }]) =>
      type === 'application/json'
        ? content(document, type, schema)
        : html`<p class="soft">Answered as ${type}.</p>`,
    );
    return html`<h4><span class="status">${status}</span> ${prose(description)}</h4>${parts}`;
  });
  if (shared.length === 0) return html`${shown}`;
  const links = shared
    .map(([status]) => html`<a href="#error-${status}">${status}</a>`)
    .reduce((list, one) => html`${list}, ${one}`);
  return html`${shown}<h4>Errors</h4><p>${links}</p>`;
}

function content(document: ApiDocument, type: string, schema: Schema | undefined, given?: unknown): Html {
  if (schema === undefined) return html``;
  const example = given ?? exampleOf(document, schema);
  const text = type.endsWith('json') ? JSON.stringify(example, null, 2) : formText(example);
  return html`${shape(document, schema)}<details class="example"><summary>Example</summary><pre><code>${text}</code></pre></details>`;
}

const formText = (example: unknown): string =>
  Object.keys(example as Record<string, unknown>)
    .map((name) => `${name}=…`)
    .join('&');
