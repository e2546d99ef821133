import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ConfigRequest, LoadedConfig } from '../../src/config/document.js';
import { InvalidConfig, type Problem } from '../../src/config/invalid-config.js';
import { loadConfig } from '../../src/config/load.js';

export const minimal = {
  platform: { baseUrl: 'https://api.example.com' },
  sources: [{ name: 'acme', token: { env: 'ACME_TOKEN' } }],
};

export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'rosterd-config-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export function load(content: unknown, request: Partial<ConfigRequest> = {}): LoadedConfig {
  const cwd = request.cwd ?? folder();
  writeFileSync(
    join(cwd, 'config.json'),
    typeof content === 'string' ? content : JSON.stringify(content, null, 2),
  );
  return loadConfig({ env: {}, ...request, cwd });
}

/** Returns the problems as path and message; throws when the configuration is valid. */
export function problems(content: unknown, request: Partial<ConfigRequest> = {}): readonly Problem[] {
  try {
    load(content, request);
  } catch (error) {
    if (error instanceof InvalidConfig) return error.problems;
    throw error;
  }
  throw new Error('the configuration was accepted');
}
