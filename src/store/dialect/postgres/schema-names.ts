/*
 * The schemas beside that of a mirror: `rosterd_identity`, `analytics` and `rosterd_vault` for a mirror in `public`,
 * otherwise `SCHEMA_identity`, `SCHEMA_analytics` and `SCHEMA_vault`.
 */

/** PostgreSQL cuts longer names, with a notice only. Lookups in the catalog need the name as it was cut. */
const nameBytesMax = 63;

/** In a longer one, the schemas beside it would be cut to the same name. */
export const schemaBytesMax = nameBytesMax - '_v'.length;

export function identitySchemaOf(schema: string): string {
  return schema === 'public' ? 'rosterd_identity' : asStored(`${schema}_identity`);
}

/** Returns the schema of the typed views. */
export function analyticsSchemaOf(schema: string): string {
  return schema === 'public' ? 'analytics' : asStored(`${schema}_analytics`);
}

export function vaultSchemaOf(schema: string): string {
  return schema === 'public' ? 'rosterd_vault' : asStored(`${schema}_vault`);
}

/** Returns the name as the server stores it: at most 63 bytes of UTF-8, without half a character at the end. */
export function asStored(name: string): string {
  const whole = new TextEncoder().encode(name);
  return new TextDecoder().decode(whole.subarray(0, nameBytesMax), { stream: true });
}
