import { createDocument, type oas31, type ZodOpenApiPathsObject } from 'zod-openapi';
import type { HeaderNames } from '../../wire/headers.js';
import { legacyPrefix } from '../../wire/paths.js';
import { signatureToleranceSeconds } from '../../wire/signature.js';
import { latestVersion } from '../../wire/versions.js';
import type { Operation } from '../contract/operation.js';
import { errorComponents } from './error-responses.js';
import { eventItems } from './event-items.js';
import { headerComponents, idempotencyParameter, versionParameter } from './headers.js';
import { errorResponse, operationItem } from './operation-item.js';
import { securitySchemesOf } from './security.js';
import { tagsOf } from './tags.js';

export type ApiDocument = oas31.OpenAPIObject;

/** OpenAPI 3.1 of the declarations that requests are validated with. */
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
          'Responses may gain fields and values at any time: ignore what you do not know.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [
        { url: '/', description: 'Every path, at the root.' },
        { url: legacyPrefix, description: 'The same paths, as older clients call them.' },
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
          Signature: {
            name: headers.signature,
            in: 'header',
            required: true,
            description:
              't=<Unix seconds>,v1=<hex>[,v1=<hex>]: HMAC-SHA256 with the whole secret over "<t>.<raw body>". ' +
              `Refuse a t more than ${signatureToleranceSeconds} seconds away.`,
            schema: { type: 'string' },
          },
        },
        responses: Object.fromEntries(
          errorComponents.map((error) => [error.name, errorResponse(error, headers)]),
        ),
      },
    },
    {
      // What we answer today is no promise that nothing is added: only declared strictness is told.
      override: ({ jsonSchema, zodSchema }) => {
        const closed = zodSchema._zod.def.type === 'object' && zodSchema._zod.def.catchall !== undefined;
        if (!closed && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      },
    },
  );
  // Its type is that of version 3.2, which may hold more than version 3.1 does; what stands above is version 3.1.
  return document as ApiDocument;
}
