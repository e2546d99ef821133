import type { ApiDocument } from '../../src/platform/openapi/document.js';
import { controlPath } from '../../src/platform/sandbox/requests.js';
import type { HeaderNames } from '../../src/wire/headers.js';
import { legacyPrefix } from '../../src/wire/paths.js';
import { apiDescription } from '../tools/api-description.js';
import { resolve, violations } from './schema-check.js';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Checks every response against the OpenAPI document: status, headers, media type and each body field. */
export class DeclaredAnswers {
  readonly #document: ApiDocument;
  readonly #paths: readonly (readonly [RegExp, string])[];

  constructor(readonly headers: HeaderNames) {
    this.#document = apiDescription(headers);
    // Literal segments first, in the order the router matches them.
    this.#paths = Object.keys(this.#document.paths ?? {})
      .sort((a, b) => a.split('{').length - b.split('{').length)
      .map((path) => [
        new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
        path,
      ]);
  }

  /** Throws when a response is not declared. */
  check(seen: Seen): void {
    const wrong = this.#wrong(seen);
    if (wrong.length === 0) return;
    throw new Error(
      `${seen.method} ${seen.path} answered ${seen.status} otherwise than declared:\n  ${wrong.join('\n  ')}\n` +
        `  body: ${seen.text.slice(0, 400)}`,
    );
  }

  #wrong(seen: Seen): readonly string[] {
    const path = withoutPrefix(new URL(seen.path, 'http://any.invalid').pathname);
    if (path.startsWith(controlPath) || seen.method === 'OPTIONS') return [];
    const template = this.#paths.find(([shape]) => shape.test(path))?.[1];
    const item = template === undefined ? undefined : this.#document.paths?.[template];
    const method = (seen.method === 'HEAD' ? 'get' : seen.method.toLowerCase()) as 'get';
    const operation = item?.[method];
    const declared = this.#resolved(
      operation === undefined ? unmatched[seen.status] : operation.responses?.[seen.status],
    );
    if (declared === undefined) return [`status ${seen.status} is not declared`];
    return [
      ...this.#wrongHeaders(declared, seen),
      ...(seen.method === 'HEAD' ? [] : this.#wrongBody(declared, seen)),
    ];
  }

  // biome-ignore lint/suspicious/noExplicitAny: a response or a reference to one, as it stands in the document
  #resolved(response: any): any {
    return response?.$ref === undefined ? response : resolve(this.#document, response.$ref);
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  #wrongHeaders(declared: any, { headers }: Seen): readonly string[] {
    const names = Object.keys(declared.headers ?? {});
    const told = new Set(names.map((name) => name.toLowerCase()));
    return [
      ...names.filter((name) => !headers.has(name)).map((name) => `the header ${name} is missing`),
      ...[...headers.keys()]
        .filter((name) => telling.test(name) && !told.has(name))
        .map((name) => `the header ${name} is not declared`),
    ];
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  #wrongBody(declared: any, { headers, text }: Seen): readonly string[] {
    if (text === '') return declared.content === undefined ? [] : ['the body is empty'];
    const type = (headers.get('content-type') ?? '').split(';')[0] ?? '';
    const content = declared.content?.[type];
    if (content === undefined) return [`a body of type ${type || 'none'} is not declared`];
    return type === 'application/json' ? violations(this.#document, content.schema, JSON.parse(text)) : [];
  }
}

/** Headers a client acts on. Transport headers and browser policies are not part of the description. */
const telling =
  /^(?:x-(?!frame-|content-)|location$|www-authenticate$|content-disposition$|retry-after$|.*version)/;

/** For requests outside any operation: an unknown path, another method, or a refusal before routing. */
// biome-ignore lint/suspicious/noExplicitAny: references, resolved like those of an operation
const unmatched: Readonly<Record<number, any>> = {
  400: { $ref: '#/components/responses/BadRequest' },
  404: { $ref: '#/components/responses/NotFound' },
  500: { $ref: '#/components/responses/ServerFault' },
};

const withoutPrefix = (path: string): string =>
  path.startsWith(`${legacyPrefix}/`) ? path.slice(legacyPrefix.length) : path;
