import { z } from 'zod';
import type {
  oas31,
  ZodOpenApiOperationObject,
  ZodOpenApiRequestBodyObject,
  ZodOpenApiResponseObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { defined } from '../../domain/defined.js';
import type { HeaderNames } from '../../wire/headers.js';
import { rateLimits } from '../../wire/limits.js';
import { type DeclaredResponse, errorStatusesOf, type Operation } from '../contract/operation.js';
import { type ErrorComponent, errorComponent } from './error-responses.js';
import {
  challengeHeaders,
  commonResponseHeaders,
  fileHeaders,
  limitHeaders,
  redirectHeaders,
  validatorHeaders,
} from './headers.js';
import { securityOf } from './security.js';

const portalTag = 'Developer portal';

/** Returns the OpenAPI item of a declared operation. */
export function operationItem(operation: Operation, headers: HeaderNames): ZodOpenApiOperationObject {
  const path = pathParameters(operation.path);
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...described(operation),
    ...(operation.deprecated === true || operation.removedIn !== undefined ? { deprecated: true } : {}),
    ...defined({ 'x-removed-in-version': operation.removedIn }),
    ...(operation.beta === true ? { 'x-beta': true } : {}),
    ...(operation.scopes === null ? {} : { 'x-scopes': [...operation.scopes] }),
    security: securityOf(operation),
    parameters: [
      'Version',
      ...(operation.idempotencyKey === true ? ['IdempotencyKey'] : []),
      ...(isConditional(operation) ? ['IfNoneMatch'] : []),
    ].map((name) => ({ $ref: `#/components/parameters/${name}` })),
    requestParams: {
      ...(path === null ? {} : { path }),
      ...defined({ query: operation.query }),
    },
    ...(operation.body === undefined ? {} : { requestBody: bodyOf(operation, operation.body) }),
    responses: responsesOf(operation, headers),
  };
}

/** Whether the operation answers `If-None-Match`: it then declares a 304. */
const isConditional = (operation: Operation): boolean => 304 in operation.responses;

function described(operation: Operation): { description?: string } {
  const limits = (operation.limits ?? []).map((name) => {
    const { limit, period } = rateLimits[name];
    return `At most ${limit} per ${period}.`;
  });
  const sentences = [
    operation.description,
    operation.beta === true ? 'Beta: may change between releases.' : undefined,
    operation.removedIn === undefined
      ? undefined
      : `Removed in version ${operation.removedIn}, where it returns 404.`,
    ...limits,
  ].filter((sentence) => sentence !== undefined);
  return sentences.length === 0 ? {} : { description: sentences.join(' ') };
}

function pathParameters(path: string): z.ZodObject | null {
  const names = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name ?? '');
  return names.length === 0 ? null : z.object(Object.fromEntries(names.map((name) => [name, z.string()])));
}

function bodyOf(operation: Operation, schema: z.ZodType): ZodOpenApiRequestBodyObject {
  const type = operation.bodyType === 'form' ? 'application/x-www-form-urlencoded' : 'application/json';
  return { required: !schema.safeParse({}).success, content: { [type]: { schema } } };
}

function responsesOf(operation: Operation, headers: HeaderNames): ZodOpenApiResponsesObject {
  const responses: Record<string, ZodOpenApiResponseObject | oas31.ReferenceObject> = {};
  const portal = operation.tag === portalTag;
  const pages = Object.entries(operation.responses).some(
    ([status, declared]) => typeOf(operation, Number(status), declared) === 'text/html',
  );
  for (const status of errorStatusesOf(operation)) {
    const component = errorComponent(status, portal);
    // Operations that serve pages return their own errors as a page.
    responses[status] =
      pages && operation.errors.includes(status)
        ? errorResponse(component, headers, true)
        : { $ref: `#/components/responses/${component.name}` };
  }
  for (const [status, declared] of Object.entries(operation.responses)) {
    const typed = { ...declared, type: typeOf(operation, Number(status), declared) };
    const response = declaredResponse(Number(status), typed, status in responses, headers, portal);
    const validated = isConditional(operation) && ['200', '304'].includes(status);
    responses[status] = validated
      ? { ...response, headers: { ...response.headers, ...validatorHeaders } }
      : response;
  }
  return responses as ZodOpenApiResponsesObject;
}

/** Returns the content type. Without a credential and a schema, the response is an HTML page; a redirect has no body. */
function typeOf(operation: Operation, status: number, declared: DeclaredResponse): string | undefined {
  if (declared.type !== undefined) return declared.type;
  const bare = declared.schema === undefined && (status < 300 || status >= 400);
  return bare && operation.scopes === null ? 'text/html' : undefined;
}

function declaredResponse(
  status: number,
  { description, schema, type }: Omit<DeclaredResponse, 'type'> & { readonly type: string | undefined },
  alsoError: boolean,
  headers: HeaderNames,
  portal: boolean,
): ZodOpenApiResponseObject {
  const json =
    schema !== undefined && alsoError ? z.union([schema, errorComponent(status, portal).schema]) : schema;
  const content = {
    ...(json === undefined ? {} : { 'application/json': { schema: json } }),
    ...(type === undefined ? {} : { [type]: { schema: { type: 'string' as const } } }),
  };
  return {
    description,
    headers: {
      ...commonResponseHeaders(headers),
      ...(status === 303 ? redirectHeaders : {}),
      ...(type === 'text/csv' ? fileHeaders : {}),
    },
    ...(Object.keys(content).length === 0 ? {} : { content }),
  };
}

export function errorResponse(
  { status, description, schema }: ErrorComponent,
  headers: HeaderNames,
  page = false,
): ZodOpenApiResponseObject {
  return {
    description,
    headers: {
      ...commonResponseHeaders(headers),
      ...(status === 401 ? challengeHeaders : {}),
      ...(status === 429 ? limitHeaders : {}),
    },
    content: {
      'application/json': { schema },
      ...(page ? { 'text/html': { schema: { type: 'string' as const } } } : {}),
    },
  };
}
