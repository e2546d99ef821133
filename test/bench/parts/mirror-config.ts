import type { Config } from '../../../src/config/config.js';
import type { SourceName } from '../../../src/domain/ids.js';
import { productConfig } from '../product.js';

export const mirrorFile = 'product.db';

export const sourceNameOf = (source: number): SourceName => `bench${source}` as SourceName;

export interface MirrorOptions {
  readonly folder: string;
  readonly feedUrl: string;
  readonly companies: readonly string[];
  readonly requestsPerHour: number | null;
}

/** The configuration of a mirror of these companies, each with a token of its own. */
export function mirrorConfig(
  { folder, feedUrl, companies, requestsPerHour }: MirrorOptions,
  more: object,
): Config {
  return productConfig(feedUrl, folder, `sqlite:${mirrorFile}`, {
    platform: { baseUrl: feedUrl, requestsPerHour },
    sources: companies.map((company, source) => ({
      name: sourceNameOf(source),
      token: `at_test_${'bench'.repeat(7)}${String(source).padStart(5, '0')}`,
      company,
    })),
    ...more,
  });
}
