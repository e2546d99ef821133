import pg from 'pg';
import { expect, test } from 'vitest';
import { driverUrl } from '../../../../src/store/dialect/postgres/driver-url.js';

test('driverUrl: every mode that verifies is written as verify-full, and the driver warns of none', async () => {
  const warned: Error[] = [];
  const listen = (warning: Error) => void warned.push(warning);
  process.on('warning', listen);
  const url = (rest: string) => `postgres://ann@db.example/mirror?${rest}`;
  for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full']) {
    const driven = driverUrl(url(`a=1&sslmode=${mode}&b=2`));
    expect(driven).toBe(url('a=1&sslmode=verify-full&b=2'));
    new pg.Client({ connectionString: driven });
  }
  // A warning is emitted in the next tick.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', listen);
  expect(warned).toEqual([]);
});

test.each([
  'sslmode=disable',
  'sslmode=no-verify',
  'uselibpqcompat=true&sslmode=require',
  'application_name=a',
])('driverUrl: %s stays as it is', (rest) => {
  const url = `postgres://ann@db.example/mirror?${rest}`;
  expect(driverUrl(url)).toBe(url);
});
