import type { ApiDocument } from '../../../src/platform/openapi/document.js';
import { resolve } from '../schema-check.js';
import type { Chance } from './chance.js';
import { brokenBodies, hostileValues, wellFormed } from './hostile.js';
import type { Known } from './known.js';
import { type Making, madeOf, type Schema } from './values.js';

/** An operation as the document describes it, which is all that an outsider knows of the platform. */
export interface DescribedOperation {
  readonly id: string;
  readonly tag: string;
  readonly method: string;
  readonly path: string;
  readonly scopes: readonly string[] | null;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  /** Media type and schema of the body. */
  readonly body: readonly [string, Schema] | null;
}

export interface Request {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export function operationsIn(document: ApiDocument): readonly DescribedOperation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Schema>).map(([method, operation]): DescribedOperation => {
      const body = Object.entries(operation.requestBody?.content ?? {})[0] as [string, Schema] | undefined;
      return {
        id: operation.operationId,
        tag: operation.tags[0],
        method: method.toUpperCase(),
        path,
        scopes: operation['x-scopes'] ?? null,
        parameters: (operation.parameters ?? []).map((one: Schema) =>
          one.$ref === undefined ? one : resolve(document, one.$ref),
        ),
        body: body === undefined ? null : [body[0], body[1].schema],
      };
    }),
  );
}

/** Values that people enter into the forms of the pages. */
const answers: Readonly<Record<string, readonly string[]>> = {
  action: [
    'sign_in',
    'sign_in',
    'approve',
    'reject',
    'deny',
    'join',
    'decline',
    'identity',
    'fund',
    'confirm',
    'sign_out',
  ],
  email: ['ida@people.example', 'founder1@people.example', 'owner@people.example', 'nobody@people.example'],
  document: ['X1234567', '000000000', ''],
  card: ['4242 4242 4242 4242', '4000 0000 0000 0002', 'none'],
  amount: ['2500', '2,500', '-1', '1e9', ''],
};

/** The share of requests meant to break something; the rest are meant to succeed. */
const spoiledShare = 0.35;

export function requestFor(
  document: ApiDocument,
  operation: DescribedOperation,
  chance: Chance,
  known: Known,
): Request {
  const spoiled = chance.happens(spoiledShare);
  const making: Making = { document, chance, known, hostile: spoiled ? 0.25 : 0 };
  const path = known.path(chance, operation.path, () =>
    spoiled && chance.happens(0.3) ? encodeURIComponent(wellFormed(chance.pick(hostileValues))) : null,
  );
  const prefix = chance.happens(0.1) ? '/api/v2' : '';
  return {
    path: `${prefix}${path}${queryOf(making, operation, spoiled)}`,
    headers: headersOf(making, operation, spoiled),
    body: bodyOf(making, operation, spoiled),
  };
}

function queryOf(making: Making, operation: DescribedOperation, spoiled: boolean): string {
  const { chance } = making;
  const query = new URLSearchParams();
  for (const { name, in: place, schema } of operation.parameters) {
    if (place !== 'query' || !chance.happens(0.3)) continue;
    const times = chance.happens(0.05) ? 2 : 1;
    for (let time = 0; time < times; time += 1) query.append(name, wellFormed(madeOf(making, schema, name)));
  }
  if (spoiled && chance.happens(0.1)) query.append('unknown[]', wellFormed(chance.pick(hostileValues)));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

function headersOf(making: Making, operation: DescribedOperation, spoiled: boolean): Record<string, string> {
  const { chance } = making;
  const headers: Record<string, string> = {};
  if (operation.body !== null) headers['content-type'] = operation.body[0];
  if (operation.scopes === null && making.known.visit !== null) headers.cookie = making.known.visit.cookie;
  if (spoiled && chance.happens(0.1))
    headers['content-type'] = chance.pick(['text/plain', 'application/xml', 'x']);
  for (const { name, in: place, schema } of operation.parameters) {
    if (place !== 'header' || !chance.happens(0.3)) continue;
    // A header may carry printable ASCII only, or the client refuses to send it.
    const value = schema.enum === undefined ? `key-${chance.whole(1, 3)}` : madeOf(making, schema, name);
    headers[name] =
      wellFormed(value)
        .replaceAll(/[^\x20-\x7e]/g, '?')
        .trim() || 'none';
  }
  return headers;
}

function bodyOf(making: Making, operation: DescribedOperation, spoiled: boolean): string | undefined {
  const { chance } = making;
  if (operation.body === null)
    return operation.method !== 'GET' && spoiled && chance.happens(0.2) ? '{}' : undefined;
  if (chance.happens(0.02)) return undefined;
  if (spoiled && chance.happens(0.1)) return chance.pick(brokenBodies);
  const [type, schema] = operation.body;
  const value = madeOf(making, schema);
  if (!type.includes('form')) return JSON.stringify(value);
  const form = new URLSearchParams();
  if (typeof value === 'object' && value !== null) {
    for (const [name, held] of Object.entries(value)) form.append(name, wellFormed(held));
  }
  if (operation.scopes === null && making.known.visit !== null && !spoiled) {
    form.set('csrf', making.known.visit.csrf);
    for (const [name, values] of Object.entries(answers)) form.set(name, chance.pick(values));
  }
  return form.toString();
}
