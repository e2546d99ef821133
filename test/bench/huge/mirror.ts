import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../../src/config/config.js';
import { configFrom } from '../../../src/config/config-from.js';
import { settingsSchema } from '../../../src/config/settings.js';
import { companyOf, tokenOf } from './companies-feed.js';

/** The name of the first source, which the documented queries use. */
export const firstSource = 'acme';

export const sourceOf = (no: number): string => (no === 0 ? firstSource : `company-${no}`);

export const sqliteFile = 'mirror.db';

/** A mirror of the generated companies: where it is, and who serves it. */
export interface MirrorPlace {
  readonly folder: string;
  readonly feedUrl: string;
  readonly companies: number;
  /** `sqlite:FILE` or `postgres://…`. */
  readonly database: string;
}

const tokenVariable = (no: number) => `HUGE_TOKEN_${no}`;

export function tokensOf(companies: number): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Array.from({ length: companies }, (_, no) => [tokenVariable(no), tokenOf(no)] as const),
  );
}

function settingsOf({ feedUrl, companies, database }: MirrorPlace) {
  return {
    platform: { baseUrl: feedUrl, requestsPerHour: null },
    database,
    console: null,
    sync: { perPage: 100 },
    sources: Array.from({ length: companies }, (_, no) => ({
      name: sourceOf(no),
      token: { env: tokenVariable(no) },
      company: companyOf(no),
    })),
  };
}

/** Writes the configuration for the command line. Returns its path. */
export function writeConfig(place: MirrorPlace, name: string): string {
  const path = join(place.folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(settingsOf(place)), { mode: 0o600 });
  return path;
}

export function configOf(place: MirrorPlace): Config {
  const env = tokensOf(place.companies);
  return configFrom(settingsSchema.parse(settingsOf(place)), { env, folderOf: () => place.folder });
}
