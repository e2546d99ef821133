import { shellWord } from '../domain/shell-word.js';
import { authoritiesIn } from '../runtime/authority.js';
import { readNamedFile } from '../runtime/named-file.js';
import { configFrom, folderOfFile } from './config-from.js';
import {
  type ConfigRequest,
  documentFrom,
  type LoadedConfig,
  originIn,
  readConfigText,
  strayNames,
  strayText,
  whereIn,
} from './document.js';
import { InvalidConfig, type Problem } from './invalid-config.js';
import { configJsonSchema } from './json-schema.js';
import { environmentOverrides, flagOverrides, gapsOf, withValue } from './overrides.js';
import { type Path, pathText } from './path.js';
import { placesOf, problemsOf } from './problems.js';
import { clashesIn, warningsAbout } from './rules.js';
import { draftSchema, settingsSchema } from './settings.js';
import { stubInvalid } from './stub-invalid.js';

/** Reads, merges and checks the configuration. Throws `InvalidConfig` with every problem, or `usage` without a file. */
export function loadConfig(request: ConfigRequest, text = readConfigText(request)): LoadedConfig {
  const root = configJsonSchema();
  const fromEnv = environmentOverrides(root, request.env);
  const fromFlags = flagOverrides(root, request.flags ?? []);
  const overrides = [...fromEnv.overrides, ...fromFlags.overrides];
  const document = documentFrom(text, request, overrides);

  const input = overrides.reduce(
    (value, { path, value: set }) => withValue(value, path, set),
    document.value,
  );
  const originOf = (path: Path) => originIn(overrides, document.value, path);
  const whereOf = (path: Path) => whereIn(document, overrides, path);
  const folder = document.file === null ? request.cwd : folderOfFile(document.file, request.cwd);
  const folderOf = (path: Path) => (/^(?:env|flag) /.test(originOf(path)) ? request.cwd : folder);
  const problems: Problem[] = fromFlags.unknown.map(({ name, meant }) => ({
    path: '',
    where: name,
    message: 'is not an option',
    ...(meant === undefined ? {} : { hint: `did you mean ${meant}?` }),
  }));

  const gaps = gapsOf(overrides, input);
  if (gaps.length > 0) throw new InvalidConfig([...problems, ...gaps, ...strayNames(fromEnv.unknown, input)]);
  const parsed = (request.draft === true ? draftSchema : settingsSchema).safeParse(input);
  if (!parsed.success) problems.push(...problemsOf(parsed.error.issues, { root, input, whereOf }));
  const understood = parsed.success
    ? { settings: parsed.data, isMadeUp: () => false }
    : stubInvalid(input, placesOf(parsed.error.issues));
  for (const { path, ...clash } of understood === null
    ? []
    : clashesIn(understood.settings, { folderOf, draft: request.draft === true, file: document.file })) {
    if (!understood?.isMadeUp(path)) problems.push({ path: pathText(path), where: whereOf(path), ...clash });
  }
  const strays = strayNames(fromEnv.unknown, input);
  if (!parsed.success || problems.length > 0) throw new InvalidConfig([...problems, ...strays]);

  const config = configFrom(parsed.data, { env: request.env, folderOf });
  const distrusted = authorityProblem(config.platform.caFile);
  if (distrusted !== null) {
    const path = ['platform', 'ca'];
    throw new InvalidConfig([{ path: pathText(path), where: whereOf(path), ...distrusted }, ...strays]);
  }
  return {
    config,
    settings: parsed.data,
    file: document.file,
    warnings: [...warningsAbout(parsed.data), ...strays.map(strayText)],
    originOf,
  };
}

/**
 * Returns what is wrong with the certificate authority file, so that it is reported before the first request. An
 * unreadable file is no problem here: the configuration may be checked on a machine that does not have the file.
 */
function authorityProblem(file: string | null): Pick<Problem, 'message' | 'hint'> | null {
  if (file === null) return null;
  let pem: string;
  try {
    pem = readNamedFile(file);
  } catch {
    return null;
  }
  const found = authoritiesIn(pem);
  if (typeof found !== 'string') return null;
  return {
    message: `${file} ${found}`,
    hint: `inspect it with: openssl x509 -in ${shellWord(file)} -noout -subject -dates`,
  };
}
