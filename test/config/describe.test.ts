import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { configSchemaText, describeConfig, effectiveSettings } from '../../src/config/describe.js';
import { configJsonSchema } from '../../src/config/json-schema.js';
import { environmentOverrides } from '../../src/config/overrides.js';
import { schemaPath } from '../../src/runtime/package-root.js';
import { load, minimal } from './load-config.js';

test('schema/config.schema.json is up to date (npm run generate)', () => {
  expect(readFileSync(schemaPath('config.schema.json'), 'utf8')).toBe(configSchemaText());
});

test('every option has a description', () => {
  const rows = describeConfig();
  expect(rows.length).toBeGreaterThan(40);
  expect(rows.filter((row) => row.description.length < 10)).toEqual([]);
});

test('the environment variable in the table sets its option, for every option', () => {
  const root = configJsonSchema();
  for (const row of describeConfig()) {
    const { overrides, unknown } = environmentOverrides(root, { [row.environment]: 'x' });
    expect(unknown, row.environment).toEqual([]);
    expect(overrides).toHaveLength(1);
  }
});

test('a row of the table has type, default and unit', () => {
  expect(describeConfig().find((row) => row.path === 'sync.intervalSeconds')).toEqual({
    path: 'sync.intervalSeconds',
    type: 'integer',
    default: '60',
    required: false,
    within: 'sync',
    description: expect.stringContaining('Seconds between ticks'),
    environment: 'ROSTERD_SYNC__INTERVAL_SECONDS',
  });
});

test('the effective settings mask secrets, including inline ones', () => {
  const loaded = load({
    ...minimal,
    sources: [
      { name: 'a', token: 'at_test_abc' },
      { name: 'b', token: { env: 'B_TOKEN' } },
    ],
    receiver: { secrets: [{ file: '/run/secrets/hook' }] },
  });
  const rows = effectiveSettings(loaded);
  const valueAt = (path: string) => rows.find((row) => row.path === path)?.value;
  expect(valueAt('sources[0].token')).toBe('(secret, written out)');
  expect(valueAt('sources[1].token')).toBe('(secret, from env B_TOKEN)');
  expect(valueAt('receiver.secrets[0]')).toBe('(secret, from file /run/secrets/hook)');
  expect(valueAt('sync.perPage')).toBe(100);
  expect(JSON.stringify(rows)).not.toContain('abc');
});
