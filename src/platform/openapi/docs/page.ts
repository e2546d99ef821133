import type { oas31 } from 'zod-openapi';
import { type Html, html } from '../../../runtime/html.js';
import { paths } from '../../../wire/paths.js';
import type { Reply } from '../../http/exchange.js';
import { pageReply } from '../../pages/layout.js';
import type { ApiDocument } from '../document.js';
import { type ListedOperation, operationSection } from './operation-section.js';
import { prose } from './prose.js';
import { responseOf, type Schema, schemaOf } from './reading.js';
import { fields, typeOf } from './shape.js';
import { docsStyle } from './style.js';

/** The API reference page: operations by tag, events and errors, without scripts. */
export function docsPage(document: ApiDocument): Reply {
  const { info, tags = [] } = document;
  const sections = tags.map((tag) => tagSection(document, tag));
  const entries = [...tags.map(({ name }) => name), 'Errors', 'Records'];
  const contents = entries.map((name) => html`<li><a href="#${slug(name)}">${name}</a></li>`);
  const body = html`<header><h1>${info.title}</h1>
<p class="lead">Version ${info.version}. ${info.description ?? ''}</p>
<p>For programs: <a href="${paths.apiDescription}">OpenAPI 3.1</a>. ${bases(document)}</p></header>
<nav aria-label="Contents"><ul>${contents}</ul></nav>
<div>${sections}${errors(document)}${schemas(document)}</div>`;
  return pageReply({
    title: info.title,
    body,
    style: docsStyle,
    footer: html`Generated from the declarations that validate requests.`,
  });
}

const slug = (name: string): string => `tag-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;

function bases(document: ApiDocument): Html {
  const all = (document.servers ?? []).map(({ url }) => html`<code>${url}</code>`);
  return html`Paths are available below ${all.reduce((list, one) => html`${list} and ${one}`)}.`;
}

function tagSection(document: ApiDocument, tag: oas31.TagObject): Html {
  const listed = [
    ...operationsOf(document.paths ?? {}, tag.name),
    ...operationsOf(document.webhooks ?? {}, tag.name),
  ];
  return html`<section aria-labelledby="${slug(tag.name)}"><h2 id="${slug(tag.name)}">${tag.name}</h2>
${tag.description === undefined ? null : html`<p class="soft">${tag.description}</p>`}
${listed.map((one) => operationSection(document, one))}</section>`;
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;

function operationsOf(items: oas31.PathsObject, tag: string): readonly ListedOperation[] {
  return Object.entries(items).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method];
      if (operation === undefined || operation.tags?.includes(tag) !== true) return [];
      const event = !path.startsWith('/');
      const about = event
        ? { ...operation, summary: operation.description ?? '', description: '' }
        : operation;
      return [{ method: event ? 'EVENT' : method.toUpperCase(), path, item: about }];
    }),
  );
}

function errors(document: ApiDocument): Html {
  const seen = new Set<string>();
  const rows = Object.entries(document.components?.responses ?? {}).flatMap(([name, response]) => {
    const { description, content } = responseOf(document, response);
    const type = typeSchema(document, content?.['application/json']?.schema);
    const status = statusOf(document, name);
    const anchor = status !== null && !seen.has(status) ? html` id="error-${status}"` : html``;
    if (status !== null) seen.add(status);
    return [
      html`<tr${anchor}><td>${status ?? ''}${name.startsWith('Portal') ? html`<br><span class="soft">portal</span>` : null}</td><td>${type}</td><td>${description}</td></tr>`,
    ];
  });
  return html`<section aria-labelledby="${slug('Errors')}"><h2 id="${slug('Errors')}">Errors</h2>
<p class="soft">All errors have the same format. Branch on the type.</p>
<table><thead><tr><th>Status</th><th>Type</th><th>Means</th></tr></thead><tbody>${rows}</tbody></table></section>`;
}

/** Returns the type of `error.type` in an envelope. */
function typeSchema(document: ApiDocument, envelope: Schema | undefined): Html {
  if (envelope === undefined) return html``;
  const error = schemaOf(document, envelope).properties?.error;
  const type = error === undefined ? undefined : schemaOf(document, error).properties?.type;
  return type === undefined ? html`` : typeOf(document, type);
}

/** Returns the status of a shared response, found where an operation refers to it. */
function statusOf(document: ApiDocument, name: string): string | null {
  for (const item of Object.values(document.paths ?? {})) {
    for (const method of methods) {
      for (const [status, response] of Object.entries(item[method]?.responses ?? {})) {
        if (response.$ref === `#/components/responses/${name}`) return status;
      }
    }
  }
  return null;
}

/** The anchor is inside the details element, so that a link to it expands the schema. */
function schemas(document: ApiDocument): Html {
  const all = Object.entries(document.components?.schemas ?? {}).map(([name, schema]) => {
    const does = html`<span class="does">${prose(schema.description ?? '')}</span>`;
    const inside = html`<div id="schema-${name}">${fields(document, schema)}</div>`;
    return html`<details class="schema"><summary><code class="path">${name}</code> ${does}</summary>${inside}</details>`;
  });
  return html`<section aria-labelledby="${slug('Records')}"><h2 id="${slug('Records')}">Records</h2>${all}</section>`;
}
