import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';

const tag = 'Documentation';

export const getApiDescription = operation({
  id: 'getApiDescription',
  method: 'GET',
  path: paths.apiDescription,
  tag,
  summary: 'Get the OpenAPI 3.1 document of this API',
  scopes: null,
  responses: {
    200: {
      description: 'The document',
      schema: z.record(z.string(), z.unknown()),
    },
  },
  errors: [],
});

export const openDocs = operation({
  id: 'openDocs',
  method: 'GET',
  path: paths.docs,
  tag,
  summary: 'Read the API reference as a page',
  scopes: null,
  responses: { 200: { description: 'A page', type: 'text/html' } },
  errors: [],
});
