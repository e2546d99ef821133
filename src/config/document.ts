import { relative, resolve } from 'node:path';
import { Fault } from '../domain/fault.js';
import { shellWord } from '../domain/shell-word.js';
import { readNamedFile } from '../runtime/named-file.js';
import type { Config } from './config.js';
import { InvalidConfig, type Problem } from './invalid-config.js';
import { type JsonDocument, JsonMistake, parseJsonText } from './json-text.js';
import type { Override } from './overrides.js';
import { isWithin, type Path, valueAt } from './path.js';
import type { Settings } from './settings.js';

export interface ConfigRequest {
  /** From `--config`; the default is ROSTERD_CONFIG, then ./config.json. */
  readonly file?: string | undefined;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Values from flags: `--log-level debug` is `{ path: 'log.level', text: 'debug', flag: '--log-level' }`. */
  readonly flags?: readonly { readonly path: string; readonly text: string; readonly flag: string }[];
  /** Accepts an incomplete configuration, without sources or without a file. */
  readonly draft?: boolean;
}

export interface LoadedConfig {
  readonly config: Config;
  /** The options as given, with defaults filled in: what `config show` prints. */
  readonly settings: Settings;
  /** Absolute path; null when all options came from the environment and flags. */
  readonly file: string | null;
  readonly warnings: readonly string[];
  /** Returns `default`, `file`, `env NAME` or `flag --NAME`. */
  originOf(path: Path): string;
}

const defaultConfigFile = 'config.json';

/** Returns the path of the configuration file, which may not exist. */
export function configFileOf({ file, cwd, env }: ConfigRequest): string {
  return resolve(cwd, file ?? (env.ROSTERD_CONFIG || defaultConfigFile));
}

export interface SourceDocument extends JsonDocument {
  readonly file: string | null;
  readonly shownAs: string;
}

/** The text of the configuration file, or why it cannot be read. */
export interface ConfigText {
  readonly file: string;
  /** The path as a user would type it. */
  readonly shownAs: string;
  readonly content: string | { readonly error: unknown };
}

/** Reads the file. Call it once for a request: what was read from a pipe, such as `<(command)`, cannot be read again. */
export function readConfigText(request: ConfigRequest): ConfigText {
  const file = configFileOf(request);
  const shownAs = shorter(relative(request.cwd, file), file);
  try {
    return { file, shownAs, content: readNamedFile(file, shownAs) };
  } catch (error) {
    return { file, shownAs, content: { error } };
  }
}

export function documentFrom(
  { file, shownAs, content }: ConfigText,
  request: ConfigRequest,
  overrides: readonly Override[],
): SourceDocument {
  if (typeof content !== 'string') {
    const { error } = content;
    if (error instanceof Fault) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason';
    const asked = request.file !== undefined || (request.env.ROSTERD_CONFIG ?? '') !== '';
    // A container may set all options in the environment and need no file. What a draft cannot lack is the platform.
    const selfContained =
      request.draft === true
        ? overrides.some(({ path }) => isWithin(['platform', 'baseUrl'], path))
        : !asked && overrides.some(({ path }) => path[0] === 'sources');
    if (code === 'ENOENT' && selfContained) {
      return { value: {}, placeOf: () => undefined, file: null, shownAs: 'the environment' };
    }
    throw code === 'ENOENT' ? missing(file) : unreadable(shownAs, code, error);
  }
  try {
    return { ...parseJsonText(content), file, shownAs };
  } catch (error) {
    if (!(error instanceof JsonMistake)) throw error;
    const { line, column } = error.place;
    throw new InvalidConfig([{ path: '', where: `${shownAs}:${line}:${column}`, message: error.message }]);
  }
}

/** With the whole path: the folder is often the wrong one. */
function missing(file: string): Fault {
  return new Fault('usage', `there is no configuration at ${file}`, {
    hint: 'go to its folder, or name it with --config FILE; `rosterd init` writes one, and `rosterd demo` needs none',
  });
}

function unreadable(shownAs: string, code: string, cause: unknown): Fault {
  return new Fault('usage', `${shownAs} cannot be read (${code})`, {
    hint: `check that it is a file and that this user can read it: ls -l ${shellWord(shownAs)}`,
    cause,
  });
}

function shorter(first: string, second: string): string {
  return first !== '' && first.length < second.length ? first : second;
}

/** Returns the last override that set the value or an object or list that contains it. */
function settingOverride(overrides: readonly Override[], path: Path): Override | undefined {
  return overrides.findLast((override) => isWithin(path, override.path));
}

export function originIn(overrides: readonly Override[], fileValue: unknown, path: Path): string {
  const override = settingOverride(overrides, path);
  // A default filled into an object from the environment is still a default.
  if (override !== undefined) {
    const inner = valueAt(override.value, path.slice(override.path.length));
    if (inner !== undefined || path.length === override.path.length) return override.origin;
  }
  return valueAt(fileValue, path) === undefined ? 'default' : 'file';
}

export function whereIn(document: SourceDocument, overrides: readonly Override[], path: Path): string {
  const override = settingOverride(overrides, path);
  if (override !== undefined) return override.origin;
  // A missing value has no position, so use the closest object or list around it.
  for (let length = path.length; length >= 0; length -= 1) {
    const place = document.placeOf(path.slice(0, length));
    if (place !== undefined) return `${document.shownAs}:${place.line}:${place.column}`;
  }
  return document.shownAs;
}

/**
 * Returns a warning for each unknown ROSTERD_ variable, which may be misspelt. It is not an error: Kubernetes sets
 * names like ROSTERD_PORT for a service called rosterd, and that must not stop the daemon.
 */
export function strayNames(
  unknown: readonly { readonly name: string; readonly meant: string | undefined }[],
  input: unknown,
): readonly Problem[] {
  const asSecrets = JSON.stringify(input);
  return unknown
    .filter(({ name }) => !asSecrets.includes(JSON.stringify({ env: name })))
    .map(({ name, meant }) => ({
      path: '',
      where: `env ${name}`,
      message: 'sets no option',
      ...(meant === undefined ? {} : { hint: `did you mean ${meant}?` }),
    }));
}

export function strayText({ where, message, hint }: Problem): string {
  return [`${where} ${message}`, ...(hint === undefined ? [] : [hint])].join('; ');
}
