import type { oas31 } from 'zod-openapi';
import type { ApiDocument } from '../document.js';

export type Schema = oas31.SchemaObject | oas31.ReferenceObject;

/** `#/components/schemas/Investment` → `Investment`, or null for an inline schema. */
export function referredName(schema: Schema): string | null {
  return schema.$ref === undefined ? null : (schema.$ref.split('/').at(-1) ?? null);
}

export function schemaOf(document: ApiDocument, schema: Schema): oas31.SchemaObject {
  const name = referredName(schema);
  if (name === null) return schema as oas31.SchemaObject;
  const found = document.components?.schemas?.[name];
  if (found === undefined) throw new Error(`the description has no schema ${name}`);
  return schemaOf(document, found);
}

export function responseOf(
  document: ApiDocument,
  response: oas31.ResponseObject | oas31.ReferenceObject,
): oas31.ResponseObject {
  if (!('$ref' in response)) return response;
  const name = String(response.$ref).split('/').at(-1) ?? '';
  const found = document.components?.responses?.[name];
  if (found === undefined) throw new Error(`the description has no response ${name}`);
  return responseOf(document, found);
}

export function parameterOf(
  document: ApiDocument,
  parameter: oas31.ParameterObject | oas31.ReferenceObject,
): oas31.ParameterObject {
  if (!('$ref' in parameter)) return parameter;
  const name = String(parameter.$ref).split('/').at(-1) ?? '';
  const found = document.components?.parameters?.[name];
  if (found === undefined) throw new Error(`the description has no parameter ${name}`);
  return parameterOf(document, found);
}

/** Returns the alternatives of a schema, with null separate: `string | null` is one nullable alternative. */
export function choicesOf(schema: oas31.SchemaObject): {
  readonly choices: readonly Schema[];
  readonly nullable: boolean;
} {
  const listed = schema.anyOf ?? schema.oneOf;
  const choices = (listed ?? [schema]) as readonly Schema[];
  const some = choices.filter((choice) => !('type' in choice && choice.type === 'null'));
  const inType = Array.isArray(schema.type) && schema.type.includes('null');
  return { choices: some, nullable: inType || some.length < choices.length };
}
