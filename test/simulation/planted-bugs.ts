/** A bug that could have been written, as text to replace. The simulator has to see every one of them. */
export interface PlantedBug {
  readonly name: string;
  readonly file: string;
  readonly search: string;
  readonly replace: string;
}

const bug = (name: string, file: string, search: string, replace: string): PlantedBug => ({
  ...{ name, file, search, replace },
});

const sqlite = 'src/store/dialect/sqlite';

export const plantedBugs: readonly PlantedBug[] = [
  bug(
    'a page is no transaction',
    `${sqlite}/transaction.ts`,
    "raw.exec('BEGIN IMMEDIATE');\n  try {\n    const result = work();\n    raw.exec('COMMIT');",
    'try {\n    const result = work();',
  ),
  bug(
    'an erased identity is merged, not replaced',
    `${sqlite}/commit.ts`,
    'if (identityDiffers) {',
    'if (identityDiffers && identity !== null) {',
  ),
  bug(
    'strict order by time',
    'src/store/plan-page.ts',
    'const difference = compare(held, record);\n  const republished',
    'if (record.investment.observed_at <= held.investment.observed_at) return null;\n  const difference = compare(held, record);\n  const republished',
  ),
  bug(
    'tombstones are ignored',
    'src/store/plan-page.ts',
    "held === undefined ? null : { kind: 'remove', held, reason }",
    "held === undefined || reason !== '' ? null : { kind: 'remove', held, reason }",
  ),
  bug(
    'paging stops at an empty page',
    'src/client/parse-page.ts',
    'hasMore: meta.has_more,',
    'hasMore: meta.has_more && page.data.length > 0,',
  ),
  bug(
    'filters are dropped on page 2',
    'src/client/investments.ts',
    'company_id: scope.company ?? undefined,',
    "company_id: position.kind === 'start' ? (scope.company ?? undefined) : undefined,",
  ),
  bug(
    'an unfinished first listing is shown',
    'schema/sqlite/0002_views.sql',
    'LEFT JOIN identity_rows i ON i.row_no = r.row_no\nWHERE s.listed_at IS NOT NULL;',
    'LEFT JOIN identity_rows i ON i.row_no = r.row_no;',
  ),
  bug(
    'the old rows go before the new ones are there',
    `${sqlite}/listing.ts`,
    "if (start.kind === 'first') statements.deleteRows",
    'statements.deleteRows',
  ),
  bug(
    '2xx before the inbox has it',
    'src/inbox/receiver.ts',
    "parts.inbox.accept({ ...event, receivedAt, body: body.toString('utf8'), lane: laneOf(sources) }),",
    "(parts.clock.wait(200).then(() => parts.inbox.accept({ ...event, receivedAt, body: body.toString('utf8'), lane: laneOf(sources) })).catch(() => {}), Promise.resolve<'stored' | 'duplicate'>('stored')),",
  ),
  bug(
    'the accepting connection does not wait for the disk',
    `${sqlite}/open.ts`,
    "raw.pragma('synchronous = FULL');",
    "raw.pragma('synchronous = NORMAL');",
  ),
  bug(
    'rotated tokens stay in memory',
    'src/client/tokens/refreshing-token.ts',
    'await writeCredentials(path, fresh, this.#parts.disk);',
    '',
  ),
  bug(
    'the honoured refresh token is forgotten',
    'src/client/tokens/refreshing-token.ts',
    'tokens.refreshToken === null ? stored.previousRefreshToken : accepted,',
    'tokens.refreshToken === null ? stored.previousRefreshToken : stored.refreshToken,',
  ),
  bug(
    'the refresh token before is not tried',
    'src/client/tokens/refreshing-token.ts',
    'of [refreshToken, stored.previousRefreshToken])',
    'of [refreshToken])',
  ),
  bug(
    'a 429 is waited out for a second only',
    'src/client/rate-limit-wait.ts',
    'return Math.min(Math.max(statedWaitMillis(answer, now) ?? 0, waitMillisMin), waitMillisMax);',
    'return waitMillisMin + 0 * (statedWaitMillis(answer, now) ?? 0) * waitMillisMax;',
  ),
  bug(
    'a reset is measured with the local clock',
    'src/client/rate-limit-wait.ts',
    'return reset * second - (dateMillis(answer) ?? now);',
    'return reset * second - now;',
  ),
  bug(
    'requests have no deadline',
    'src/client/fetch/with-timeout.ts',
    'if (answered.signal.aborted) return;',
    'if (!request.signal.aborted) return;',
  ),
  bug(
    'a 401 is final',
    'src/client/fetch/with-auth.ts',
    'return answer.status === 401 ?',
    'return answer.status === 499 ?',
  ),
  bug(
    '5xx needs a person',
    'src/client/judge-response.ts',
    "if (status >= 500 || status === 408) return 'platform_error';",
    "if (status === 408) return 'platform_error';",
  ),
  bug(
    '410 needs a person',
    'src/client/judge-response.ts',
    "if (status === 410) return 'cursor_expired';",
    '',
  ),
  bug(
    'old staged rows outlive their listing',
    `${sqlite}/listing.ts`,
    '  statements.deleteStaged.run(source.no);\n  statements.deleteSeen',
    '  statements.deleteSeen',
  ),
  bug(
    'what pages named outlives its listing',
    `${sqlite}/listing.ts`,
    '  statements.deleteSeen.run(source.no);\n',
    '',
  ),
  bug('erased people stay in free pages', `${sqlite}/erasures.ts`, "raw.exec('VACUUM');", ''),
  bug(
    'the fence is not checked',
    `${sqlite}/leases.ts`,
    'if (held?.fence === lease.fence) return;',
    'if (held?.fence !== undefined) return;',
  ),
  bug(
    'a lease outlives a clock that was set back',
    `${sqlite}/leases.ts`,
    ' && expires_at <= instantFromMillis(now + 2 * leaseMs)',
    '',
  ),
  bug(
    'spacing outlives a clock that was set back',
    'src/sync/restart-spacing.ts',
    ' || waitMillis > spacingMillisMax',
    '',
  ),
  bug(
    'a halt nobody wrote down is final',
    'src/sync/run-tick.ts',
    "end.outcome === 'done' || seen !== standing",
    "end.outcome === 'done'",
  ),
  bug(
    'the overlap pass is missing',
    'src/sync/decide.ts',
    "lowMark === null ? cursor : { kind: 'since', time: lowMark }",
    'cursor',
  ),
  bug(
    'changed filters keep the cursor',
    'src/sync/run-tick.ts',
    "if (filtersChanged) return { kind: 'filters_changed' };",
    "if (filtersChanged && ask.resync === true) return { kind: 'filters_changed' };",
  ),
  bug(
    'a failing source reads as healthy',
    'src/store/reads/status.ts',
    "if (last_outcome === 'failed') return 'failing';",
    '',
  ),
  bug('a waiting source reads as healthy', 'src/store/reads/status.ts', " && last_outcome !== 'waiting'", ''),
  bug(
    'the log shows the refresh form',
    'src/client/fetch/with-retry.ts',
    '{ method: call.method, path: call.url.pathname, attempt, waitMs, ...why },',
    "{ method: call.method, path: call.url.pathname, attempt, waitMs, hint: call.body ?? '', ...why },",
  ),
  bug(
    'events are settled before the feed shows them',
    'src/inbox/drain.ts',
    'return millisOf(proof.publishedThrough) >= millisOf(event.observedAt);',
    'return true;',
  ),
  bug(
    'a nudge during a tick is lost',
    'src/sync/source-loop.ts',
    'this.#ticking = false;\n',
    'this.#ticking = false;\n    this.#nudged = false;\n',
  ),
  bug(
    'accepted events nudge nobody',
    'src/inbox/drain.ts',
    'if (!lanes.has(lane)) lanes.set(lane, Promise.resolve());\n      nudge(lane);',
    'if (!lanes.has(lane)) lanes.set(lane, Promise.resolve());',
  ),
  bug('the change feed has gaps', `${sqlite}/commit.ts`, 'this.#lastSeq += 1;', 'this.#lastSeq += 2;'),
  bug(
    'a record nobody can read is deleted by a listing',
    `${sqlite}/listing.ts`,
    "if (held !== undefined) seen.add(held.rowNo);\n    if (item.kind === 'rejected') continue;",
    "if (item.kind === 'rejected') continue;\n    if (held !== undefined) seen.add(held.rowNo);",
  ),
  bug(
    'the brake is off',
    `${sqlite}/listing.ts`,
    'if (tooMany && !policy.accepted) {',
    'if (tooMany && !policy.accepted && held < 0) {',
  ),
  bug(
    'replaced versions are not kept',
    `${sqlite}/commit.ts`,
    "this.statements.archive.run(this.at, 'update', held.rowNo);",
    '',
  ),
  bug(
    'commits follow a clock that goes back',
    `${sqlite}/mirror.ts`,
    'return last !== null && last > instant ? last : instant;',
    'return last === null ? instant : instant;',
  ),
  bug(
    'stopping does not wait for the ticks',
    'src/sync/create-sync.ts',
    'await Promise.all([...loops.values()].map((loop) => loop.close()));',
    'for (const loop of loops.values()) void loop.close();',
  ),
  bug(
    'any signature will do',
    'src/inbox/verify-signature.ts',
    'value.length === wanted.length && timingSafeEqual(value, wanted) && match < 0',
    'value.length === wanted.length && match < 0',
  ),
  bug(
    'signatures never grow old',
    'src/inbox/verify-signature.ts',
    'if (Math.abs(ageSeconds) > signatureToleranceSeconds)',
    'if (Math.abs(ageSeconds) > signatureToleranceSeconds * 1e9)',
  ),
  bug(
    'unknown installations are refused',
    'src/inbox/receiver.ts',
    "if (event === undefined) throw new Refusal('invalid_payload');\n    const sources = event.test ? [] : parts.resolveSources(event);",
    "if (event === undefined) throw new Refusal('invalid_payload');\n    const sources = event.test ? [] : parts.resolveSources(event);\n    if (!event.test && sources.length === 0) throw new Refusal('not_found');",
  ),
  bug(
    'a cursor is kept although its page failed to commit',
    'src/sync/run-tick.ts',
    'this.#count(await mirror.applyPage(this.lease, this.#pageAtHand(), effect.reached));',
    'this.#count(await mirror.applyPage(this.lease, { ...this.#pageAtHand(), items: this.#pageAtHand().items.slice(0, 20) }, effect.reached));',
  ),
  bug(
    'identity of a token without the grant is kept',
    'src/store/plan-page.ts',
    'const identityDiffers = person.length > 0 || (held.identity === null) !== (record.identity === null);',
    'const identityDiffers = record.identity !== null && (person.length > 0 || held.identity === null);',
  ),
];
