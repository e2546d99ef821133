import { applicationsTable } from './applications.js';
import { catalogTable } from './catalog.js';
import { installationsTable } from './installations.js';
import { investmentsTable } from './investments.js';
import { sessionsTable } from './sessions.js';
import { syndicatesTable } from './syndicates.js';
import type { AnyTable } from './table.js';
import { webhookTables } from './webhooks.js';

/** Every table the runner asserts. A feature adds its own here. */
export const tables: readonly AnyTable[] = [
  investmentsTable,
  installationsTable,
  applicationsTable,
  ...webhookTables,
  catalogTable,
  sessionsTable,
  syndicatesTable,
];
