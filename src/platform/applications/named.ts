import { notFound } from '../http/problem.js';
import type { State } from '../state/database.js';
import { one } from '../state/statements.js';
import { type Application, applicationByNo } from './model.js';

/** Finds an application by its id or by either client id. The ready document contains the client ids. */
export function namedApplication(state: State, id: string): Application {
  const row = one<{ no: number }>(
    state,
    `SELECT a.no FROM applications a WHERE a.status <> 'deleted' AND
       (a.id = $id OR EXISTS (SELECT 1 FROM clients c WHERE c.application_no = a.no AND c.client_id = $id))`,
    { id },
  );
  if (row === undefined) throw notFound(`The application ${id}`);
  return applicationByNo(state, row.no);
}
