import type { LoadedConfig } from './load.js';
import { environmentName } from './overrides.js';
import { type Path, pathText } from './path.js';
import {
  childOf,
  configJsonSchema,
  isSecretPath,
  propertiesOf,
  type SchemaNode,
  typeText,
  variantsOf,
} from './schema-tree.js';
import { Secret } from './secrets.js';

export interface OptionRow {
  readonly path: string;
  readonly type: string;
  /** As JSON; null when the option must be given or may be left out. */
  readonly default: string | null;
  readonly required: boolean;
  readonly description: string;
  readonly environment: string;
}

/** One row per option, in the order of the declarations: the reference in the README is made of it. */
export function describeConfig(): readonly OptionRow[] {
  return rowsBelow(configJsonSchema(), []);
}

function rowsBelow(node: SchemaNode, below: Path): readonly OptionRow[] {
  const required = new Set(variantsOf(node).flatMap((variant) => variant.required ?? []));
  return Object.entries(propertiesOf(node)).flatMap(([key, child]) => {
    const path = [...below, key];
    const item = childOf(child, 0);
    const holdsOptions = (inner: SchemaNode) =>
      inner.writeOnly !== true && Object.keys(propertiesOf(inner)).length > 0;
    if (key === '$schema') return [];
    if (holdsOptions(child)) return rowsBelow(child, path);
    if (child.writeOnly !== true && item !== undefined && holdsOptions(item)) {
      return rowsBelow(item, [...path, 0]);
    }
    return [
      {
        path: pathText(path).replaceAll('[0]', '[]'),
        type: typeText(child),
        default: child.default === undefined ? null : JSON.stringify(child.default),
        required: required.has(key),
        description: child.description ?? '',
        environment: environmentName(path),
      },
    ];
  });
}

export interface SettingRow {
  readonly path: string;
  readonly value: unknown;
  readonly from: string;
}

/** Every value in force and who set it; secrets tell where they come from, never what they are. */
export function effectiveSettings(loaded: LoadedConfig): readonly SettingRow[] {
  const root = configJsonSchema();
  const rows: SettingRow[] = [];
  const visit = (value: unknown, path: Path): void => {
    const branch = typeof value === 'object' && value !== null && Object.keys(value).length > 0;
    if (isSecretPath(root, path) && !Array.isArray(value)) {
      const secret = new Secret(pathText(path), value as string, { env: {}, folder: '' });
      rows.push({ path: pathText(path), value: String(secret), from: loaded.originOf(path) });
    } else if (Array.isArray(value) && branch) {
      for (const [index, item] of value.entries()) visit(item, [...path, index]);
    } else if (branch) {
      for (const [key, inner] of Object.entries(value)) visit(inner, [...path, key]);
    } else if (value !== undefined && pathText(path) !== '$schema') {
      rows.push({ path: pathText(path), value, from: loaded.originOf(path) });
    }
  };
  visit(loaded.settings, []);
  return rows;
}

/** The text of schema/config.schema.json. */
export function configSchemaText(): string {
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
}
