import { readFileSync } from 'node:fs';
import { schemaPath } from '../runtime/package-root.js';
import { configFrom, folderOfFile } from './config-from.js';
import {
  type ConfigRequest,
  type ConfigText,
  documentFrom,
  type LoadedConfig,
  originIn,
  readConfigText,
  type SourceDocument,
  strayNames,
  strayText,
} from './document.js';
import { environmentOverrides, flagOverrides, withValue } from './overrides.js';
import type { Path } from './path.js';
import { quickSettings } from './quick-settings.js';
import { clashesIn, warningsAbout } from './rules.js';
import type { SchemaNode } from './schema-tree.js';

/** As `loadConfig`, but loads the full check only for a configuration that may be invalid. */
export async function quickLoadConfig(request: ConfigRequest): Promise<LoadedConfig> {
  const text = readConfigText(request);
  return loadIfValid(request, text) ?? (await import('./load.js')).loadConfig(request, text);
}

/** Returns null whenever `loadConfig` might report a problem, and for drafts, which follow other rules. */
function loadIfValid(request: ConfigRequest, text: ConfigText): LoadedConfig | null {
  const schema = request.draft === true ? null : storedSchema();
  if (schema === null) return null;
  const fromEnv = environmentOverrides(schema, request.env);
  const fromFlags = flagOverrides(schema, request.flags ?? []);
  const overrides = [...fromEnv.overrides, ...fromFlags.overrides];
  const document = documentOrNull(() => documentFrom(text, request, overrides));
  if (fromFlags.unknown.length > 0 || document === null) return null;

  const input = overrides.reduce(
    (value, { path, value: set }) => withValue(value, path, set),
    document.value,
  );
  const settings = quickSettings(schema, input);
  // The file of a certificate authority has problems of its own.
  if (settings === null || settings.platform.ca !== undefined) return null;
  const originOf = (path: Path) => originIn(overrides, document.value, path);
  const folder = document.file === null ? request.cwd : folderOfFile(document.file, request.cwd);
  const folderOf = (path: Path) => (/^(?:env|flag) /.test(originOf(path)) ? request.cwd : folder);
  if (clashesIn(settings, { folderOf, file: document.file }).length > 0) return null;
  const config = configFrom(settings, { env: request.env, folderOf });
  const strays = strayNames(fromEnv.unknown, input);
  return {
    config,
    settings,
    file: document.file,
    warnings: [...warningsAbout(settings), ...strays.map(strayText)],
    originOf,
  };
}

function documentOrNull(make: () => SourceDocument): SourceDocument | null {
  try {
    return make();
  } catch {
    return null;
  }
}

/** Returns the schema as the package contains it, or null when it cannot be read. */
function storedSchema(): SchemaNode | null {
  try {
    return JSON.parse(readFileSync(schemaPath('config.schema.json'), 'utf8')) as SchemaNode;
  } catch {
    return null;
  }
}
