import { createDocument, type oas31, type ZodOpenApiPathsObject } from 'zod-openapi';
import type { HeaderNames } from '../../wire/headers.js';
import { legacyPrefix } from '../../wire/paths.js';
import { signatureToleranceSeconds } from '../../wire/signature.js';
import { latestVersion } from '../../wire/versions.js';
import type { Operation } from '../contract/operation.js';
import { errorComponents } from './error-responses.js';
import { eventItems } from './event-items.js';
import { headerComponents, idempotencyParameter, ifNoneMatchParameter, versionParameter } from './headers.js';
import { errorResponse, operationItem } from './operation-item.js';
import { securitySchemesOf } from './security.js';
import { tagsOf } from './tags.js';

export type ApiDocument = oas31.OpenAPIObject;

/** Returns the OpenAPI 3.1 document of the declarations that also validate requests. */
export function describeApi(operations: readonly Operation[], headers: HeaderNames): ApiDocument {
  const paths: Record<string, ZodOpenApiPathsObject[string]> = {};
  for (const operation of operations) {
    const item = { [operation.method.toLowerCase()]: operationItem(operation, headers) };
    paths[operation.path] = { ...paths[operation.path], ...item };
  }
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Investment platform API',
        version: latestVersion,
        description:
          'Companies, offerings, syndicates, investors and their investments, with a change feed and webhooks. ' +
          'Responses may gain fields and values at any time: ignore unknown ones. The server ignores unknown query parameters, ' +
          'and unknown body fields unless the schema forbids them.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [
        { url: '/', description: 'All paths at the root.' },
        { url: legacyPrefix, description: 'The same paths for older clients.' },
      ],
      tags: [...tagsOf(operations)],
      paths,
      webhooks: eventItems(headers),
      components: {
        securitySchemes: securitySchemesOf(operations),
        headers: headerComponents,
        parameters: {
          Version: versionParameter(headers),
          IdempotencyKey: idempotencyParameter,
          IfNoneMatch: ifNoneMatchParameter,
          Signature: {
            name: headers.signature,
            in: 'header',
            required: true,
            description:
              't=<Unix seconds>,v1=<hex>[,v1=<hex>]: HMAC-SHA256 with the whole secret over "<t>.<raw body>". ' +
              `Reject a t more than ${signatureToleranceSeconds} seconds in the past or future.`,
            schema: { type: 'string' },
          },
        },
        responses: Object.fromEntries(
          errorComponents.map((error) => [error.name, errorResponse(error, headers)]),
        ),
      },
    },
    {
      // Responses may gain fields, so additionalProperties is false only where the schema is declared strict.
      override: ({ jsonSchema, zodSchema }) => {
        const closed = zodSchema._zod.def.type === 'object' && zodSchema._zod.def.catchall !== undefined;
        if (!closed && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
        if (typeof jsonSchema.sentAs === 'string') describeAs(jsonSchema, jsonSchema.sentAs);
      },
    },
  );
  // The library types the result as OpenAPI 3.2, which allows more than 3.1. The input above is 3.1.
  return document as ApiDocument;
}

/** A parameter is text to the server. A client sends a number or a boolean, and its generator needs that type. */
function describeAs(schema: Record<string, unknown>, type: string): void {
  for (const ofText of ['sentAs', 'maxLength', 'pattern', 'enum']) delete schema[ofText];
  schema.type = type;
}
