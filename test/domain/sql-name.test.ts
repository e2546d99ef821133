import { expect, test } from 'vitest';
import { sqlName } from '../../src/domain/sql-name.js';

test.each([
  ['rosterd_owner2', 'rosterd_owner2'],
  ['crm-app', '"crm-app"'],
  ['Ada', '"Ada"'],
  ['2024', '"2024"'],
  ['user', '"user"'],
  ['a"b', '"a""b"'],
  ['räume', '"räume"'],
])('sqlName: %s is written as one name of PostgreSQL', (text, name) => {
  expect(sqlName(text)).toBe(name);
});
