/**
 * Mutants that no test can find, by their name, with the reason. The run tries them as well, and fails if a test kills
 * one.
 */
export const equivalentMutants: Readonly<Record<string, string>> = {
  'http/steps/guarded.ts | scopes.length > 0 → false | return lacksUser(scopes.length > 0 ? scopes : [defaultScope]);':
    'No declared operation has a scope that a credential without a user can hold and yet refuses that credential.',
  'http/paging.ts | < → <= | return left < right ? -1 : 1;': 'The line before continues when both are equal.',
  'http/page-cursor.ts | 16 → 17 | const sealBytes = 16;':
    'The length of the signature in a value that only this file writes and reads.',
  "http/page-cursor.ts | throw new Error('the platform has no key… → ; | if (key === undefined) throw new Error('the platform has no key to sig…":
    'The next call throws for an undefined key, and both errors are a 500.',
  'applications/scope-edits.ts | lost.length > 0 → true | if (lost.length > 0) removeScopes(services, app, lost, now);':
    'Removing no scope changes nothing: tokens and installations hold only scopes that the application has.',
  'investments/cursor.ts | 25 → 26 | const payloadBytes = 25;':
    'The layout of a value that only this file writes and reads; one byte more stays zero.',
  "investments/filters.ts | person === undefined → false | if (person === undefined) throw notFound('The investor');":
    'A missing user is in no ledger, so the check after it throws the same 404; this one is for the type.',
  "investments/filters.ts | throw notFound('The investor'); → ; | if (person === undefined) throw notFound('The investor');":
    'A missing user is in no ledger, so the check after it throws the same 404; this one is for the type.',
  "webhooks/reach.ts | caller.kind !== 'user' → false | if (caller.kind !== 'user') return false;":
    'Its only caller asks for users only; the check is for the type.',
  "members/moderate.ts | member.standing === 'member' && member.p… → true | return member.standing === 'member' && member.permission !== null ? ra…":
    'The compared person ranks above a member, and no rank is at most undefined either.',
  "members/moderate.ts | && → || | return member.standing === 'member' && member.permission !== null ? ra…":
    'A person who ceases to be a member loses the permission, so both conditions hold or the rank does not matter.',
  'sessions/lifecycle.ts | overdue.length === 0 → false | if (overdue.length === 0) return;':
    'Without it, a transaction that writes nothing.',
  "intents/decide.ts | 403 → 404 | throw new Problem(403, 'forbidden', 'The person who approved may no lo…":
    'The catch below stores the message in the intent; the status is never sent.',
  "intents/propose.ts | typeof parsed !== 'object' || parsed ===… → false | if (typeof parsed !== 'object' || parsed === null) return undefined;":
    'Reading a field of null throws, which the catch turns into undefined; other values have no such field.',
  "intents/propose.ts | caller.kind === 'user' → true | user_no: caller.kind === 'user' ? caller.userNo : null,":
    'The other callers have no user number, and undefined is stored as NULL like null.',
  "verify/compare-record.ts | kept?.kind === 'record' → true | return compareAwaiting(id, held, kept?.kind === 'record' ? kept : list…":
    'A record stays one without what the mirror would not store; the check is for the type.',
  'client/budget.ts | <= → < | windowStart: state.windowStart <= now ? state.windowStart : beginning(…':
    'Windows without a phase begin now either way; those with one have no block, so the line before returns.',
  'client/budgets.ts | 50 → 51 | const swapsMax = 50;':
    'How often a shared budget is tried again is arbitrary: any such number in a row means that counting does not work.',
  "client/budgets.ts | >= → > | if (swaps >= swapsMax) throw new Error('other processes change this bu…":
    'How often a shared budget is tried again is arbitrary: any such number in a row means that counting does not work.',
  'client/budgets.ts | others > 0 → true | else if (others > 0)':
    'Counting no further request changes no number.',
  'client/budgets.ts | > → >= | else if (others > 0)': 'Counting no further request changes no number.',
  'client/budgets.ts | this.#known.size >= this.#forgetAt → true | if (this.#known.size >= this.#forgetAt) this.#forgetIdle();':
    'Idle entries are looked for more often, which costs time only: their counts are in the store.',
  "client/budgets.ts | least === null → false | if (least === null) throw new Error('a budget that was just loaded is …":
    'A budget that was loaded has two counts; the check is for the type.',
  "client/budgets.ts | throw new Error('a budget that was just … → ; | if (least === null) throw new Error('a budget that was just loaded is …":
    'A budget that was loaded has two counts; the check is for the type.',
  'client/raw-items.ts | < → <= | for (let at = 0; at < text.length; at += 1) {':
    'There is no character beyond the text, and the empty piece that it would end is left out.',
  'client/raw-items.ts | < → <= | while (at < text.length && text.charCodeAt(at) !== quote) at += text.c…':
    'In a text that JSON.parse accepted, a quote ends each string before the text ends.',
  'client/early-cursor.ts | < → <= | if (at < 0 || end - at > metaLengthMax) return null;':
    'A text that begins with its meta is no JSON, so it is no page.',
  'client/platform-time.ts | > → >= | const platformMillis = date < sentAt - 1000 || date > now ? date : now…':
    'When both are equal, either is the same time.',
  'client/fetch/with-retry.ts | 5_000 → 5001 | backoff: { baseMillis: 250, capMillis: 5_000 },':
    'Three retries after failures never wait that long.',
  "client/fetch/with-retry.ts | isFault(error) → true | if (isFault(error)) return { kind: 'fault', fault: error };":
    'An error without a code of a fault is neither a rate limit nor a failure, so it is thrown in any case.',
  'client/fetch/with-timeout.ts | answered.aborted → false | if (answered.aborted) return;':
    'Nothing listens to the end of a request that has ended.',
  'client/fetch/body-limits.ts | 64 → 65 | #bytes = Buffer.allocUnsafe(64 * 1024);':
    'The buffer grows with the body; its first size costs time only.',
  'client/fetch/body-limits.ts | 1024 → 1025 | #bytes = Buffer.allocUnsafe(64 * 1024);':
    'The buffer grows with the body; its first size costs time only.',
  'client/fetch/body-limits.ts | <= → < | if (length <= this.#bytes.byteLength) return;':
    'A buffer that is just large enough is replaced by a larger one.',
  'client/fetch/body-limits.ts | 2 → 3 | const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#bytes.byt…':
    'By how much the buffer grows costs time only.',
  'client/tokens/credentials-file.ts | 2 → 3 | `${JSON.stringify(credentials, null, 2)}\\n`;':
    'How far a file for programs is indented changes nothing.',
  "client/oauth.ts | 32 → 33 | const verifier = random.bytes(32).toString('base64url');":
    'The platform accepts verifiers of 43 to 128 characters.',
  "client/oauth.ts | 24 → 25 | return { state: random.bytes(24).toString('base64url'), verifier, chal…":
    'One more random byte is as hard to guess.',
  "client/installations.ts | !isFault(error, 'contract_broken') → false | if (!isFault(error, 'contract_broken')) throw error;":
    'Reading an installation throws nothing else.',
  "client/installations.ts | throw error; → ; | if (!isFault(error, 'contract_broken')) throw error;":
    'Reading an installation throws nothing else.',
  'client/create-client.ts | address === null → false | address === null':
    'Without a rule nothing is counted, so nothing is found; the check is for the type.',
  'client/create-client.ts | rule === null || key === undefined → false | rule === null || key === undefined':
    'Without a rule no key is known, and without a key no count; the check is for the type.',
  'client/create-client.ts | || → && | rule === null || key === undefined':
    'Without a rule no key is known, and without a key no count; the check is for the type.',
  'client/fetch/connection-pool.ts | 20_000 → 20001 | headersTimeout: options.headersMillis ?? 20_000,':
    'A millisecond more is as good: after 30 seconds the whole request ends in any case.',
  'client/fetch/connection-pool.ts | 15_000 → 15001 | bodyTimeout: options.bodyMillis ?? 15_000,':
    'A millisecond more is as good: after 30 seconds the whole request ends in any case.',
  'client/fetch/connection-pool.ts | 10_000 → 10001 | timeoutMillis: options.connectMillis ?? 10_000,':
    'A millisecond more is as good: after 30 seconds the whole request ends in any case.',
  'client/fetch/tunnel.ts | proxy.isSecure → true | const problem = proxy.isSecure ? tlsProblem(known, proxyPeer) : null;':
    'A connection without TLS fails with no code of TLS.',
  'client/fetch/tunnel.ts | 16_384 → 16385 | const bytesMax = 16_384;':
    'It bounds what a proxy sends without end. A byte more is as good.',
  'runtime/proxy.ts | proxy === null → false | if (proxy === null) return noProxy;':
    'Without a proxy, the exceptions that are read decide nothing.',
  'outbox/deliver.ts | > → >= | millisOf(dueAt) <= now || millisOf(dueAt) - now > noticeWaitMillisMax;':
    'The outbox applies the same limit to each notice: one that waits exactly as long is looked for, and not found.',
  'outbox/deliver.ts | 500 → 501 | const batch = 500;':
    'How many notices are read at once; a round sends all that are due in any case.',
  "sync/perform-tick.ts | && → || | return last.kind === 'finish' && last.halt === null ? last.end : null;":
    'A page that could be applied never ends in a halt, and what does not finish has no end.',
  "sync/perform-tick.ts | this.#mode === 'none' → true | if (this.#mode === 'none') this.#mode = modeOf(phase); #2":
    'A deletion comes before everything else in a tick.',
  "sync/perform-tick.ts | this.#page === undefined → false | if (this.#page === undefined) throw new Error('a page is committed aft…":
    'A page is committed after it was fetched; the check is for the type.',
  "sync/perform-tick.ts | throw new Error('a page is committed aft… → ; | if (this.#page === undefined) throw new Error('a page is committed aft…":
    'A page is committed after it was fetched; the check is for the type.',
  "sync/perform-tick.ts | effect.kind !== 'prefetch' → true | for (const effect of decision.effects) if (effect.kind !== 'prefetch')…":
    'Reading ahead is the last effect of a decision.',
  "sync/perform-tick.ts | throw new Error('every decision names so… → ; | throw new Error('every decision names something to do besides reading …":
    'Every decision names something to do; the error is for the type.',
  'sync/tick-slots.ts | this.#running.size < this.parts.slots → true | if (this.#running.size < this.parts.slots) this.#wakeLater();':
    'With every slot taken it would wake up and begin nothing; the next free slot asks again.',
  'sync/tick-slots.ts | < → <= | if (this.#running.size < this.parts.slots) this.#wakeLater();':
    'With every slot taken it would wake up and begin nothing; the next free slot asks again.',
  'sync/tick-slots.ts | < → <= | if (urgentLists.size + lists.size > 0 && this.#listing < this.#listing…':
    'It would wake up and begin no listing, since as many run as may.',
  'sync/tick-slots.ts | > → >= | const mayList = urgentLists.size + lists.size > 0 && this.#mayList();':
    'An empty queue has no first entry; the comparison saves a look at the requests that are left.',
  'sync/tick-slots.ts | > → >= | const feed = timed.size > 0 && this.parts.timedWait() <= 0 ? timed.pee…':
    'An empty queue has no first entry; the comparison saves a look at the requests that are left.',
  "sync/decide.ts | listing.final === null → false | if (listing.final === null) throw new Error('only a complete listing i…":
    'Both callers have looked; the check is for the type.',
  "sync/decide.ts | throw new Error('only a complete listing… → ; | if (listing.final === null) throw new Error('only a complete listing i…":
    'Both callers have looked; the check is for the type.',
  'sync/webhook-spacing.ts | > → >= | return all.reduce((widest, one) => (one.gapMillis > widest.gapMillis ?…':
    'Of two limits that require the same gap, either may be named.',
  'sync/webhook-spacing.ts | > → >= | return left > 0 && left >= limit * plentyShare;':
    'A limit of no requests at all is not one that the platform has.',
  'sync/webhook-spacing.ts | gapMillis === 0 || by === null || elapse… → false | if (gapMillis === 0 || by === null || elapsedMillis === Number.POSITIV…':
    'The formula of the next line returns 0 then, and a known gap has a limit.',
  'sync/webhook-spacing.ts | || → && | if (gapMillis === 0 || by === null || elapsedMillis === Number.POSITIV…':
    'The formula of the next line returns 0 then, and a known gap has a limit.',
  'sync/webhook-spacing.ts | || → && | if (gapMillis === 0 || by === null || elapsedMillis === Number.POSITIV… #2':
    'The formula of the next line returns 0 then, and a known gap has a limit.',
  'sync/grant-check.ts | 20 → 21 | dueAt: now + Math.min(restMillis, retryMillis * 2 ** Math.min(failures…':
    'So many doublings are beyond the longest wait in any case.',
  'sync/idle-stretch.ts | 20 → 21 | return Math.max(intervalMillis, Math.min(idleIntervalMillis, intervalM…':
    'So many doublings are beyond the longest interval in any case.',
  'sync/step-guard.ts | < → <= | if (this.#sinceMark < this.#markLasts) return;':
    'The mark stays one step longer, and a cycle is found as surely.',
  'sync/step-guard.ts | 2 → 3 | this.#markLasts *= 2;':
    'The mark moves less often, and a cycle is found a turn later at most.',
  'sync/quiet-hours.ts | 1_440 → 1441 | const dayMinutes = 1_440;':
    'An end that is a minute off is corrected like one before a change of clocks.',
  'sync/quiet-hours.ts | apart === 0 → false | if (apart === 0) return guess;':
    'Nothing apart, the next lines return the guess as well.',
  'sync/quiet-hours.ts | < → <= | const end = guess + (apart < dayMinutes / 2 ? apart : apart - dayMinut…':
    'Clocks never change by half a day.',
  'sync/quiet-hours.ts | 2 → 3 | const end = guess + (apart < dayMinutes / 2 ? apart : apart - dayMinut…':
    'Clocks never change by a third of a day.',
  'sync/quiet-hours.ts | < → <= | (minuteOfDay(time, timeZone) - to + dayMinutes) % dayMinutes < dayMinu…':
    'Clocks never change by half a day.',
  'sync/quiet-hours.ts | 2 → 3 | (minuteOfDay(time, timeZone) - to + dayMinutes) % dayMinutes < dayMinu…':
    'Clocks never change by a third of a day.',
  'sync/quiet-hours.ts | > → >= | while (skipped > end && isAfter(skipped - minuteMillis)) skipped -= mi…':
    'One minute further, the time is before the end that the clocks skip.',
  'sync/failure-of.ts | 30 → 31 | const certain = Math.min(half.capMillis, half.baseMillis * 2 ** Math.m…':
    'So many doublings are beyond the longest wait in any case.',
  'inbox/lane-queue.ts | !this.#lanes.has(lane) → true | if (!this.#lanes.has(lane))':
    'The sets of its sources have a known lane already; the check saves time.',
  'inbox/lane-queue.ts | lanes?.size === 0 → false | if (lanes?.size === 0) this.#bySource.delete(source);':
    'A set without lanes stays in memory and is read like a missing one.',
  'inbox/drain.ts | this.#sources.of(lane).length === 0 → false | if (this.#sources.of(lane).length === 0) return;':
    'A lane of no known source would stay in memory: no tick asks for it.',
  'sync/due-queue.ts | < → <= | return one.entry.dueAt === other.entry.dueAt ? one.no < other.no : one…':
    'No two entries have the same number.',
  'sync/due-queue.ts | < → <= | return one.entry.dueAt === other.entry.dueAt ? one.no < other.no : one… #2':
    'Equal times are compared by the numbers of their entries.',
  'inbox/receiver.ts | 5000 → 5001 | headersMillis: 5000,':
    'Node measures this time itself; a test would have to wait for it.',
  'inbox/receiver.ts | 10_000 → 10001 | requestMillis: 10_000,':
    'Node measures this time itself; a test would have to wait for it.',
  'inbox/receiver.ts | 1000 → 1001 | checkEveryMillis: 1000,':
    'Node measures this time itself; a test would have to wait for it.',
  'inbox/receiver.ts | 2048 → 2049 | connections: 2048,': 'The daemon always passes the configured number.',
  'inbox/receiver.ts | 1024 → 1025 | perAddress: 1024,': 'The daemon always passes the configured number.',
  'store/group-commit.ts | 1024 → 1025 | const groupLimits: GroupLimits = { count: 256, bytes: 1024 * 1024, wai…':
    'The exact number is arbitrary.',
  'store/group-commit.ts | 1024 → 1025 | const groupLimits: GroupLimits = { count: 256, bytes: 1024 * 1024, wai… #2':
    'The exact number is arbitrary.',
  'store/group-commit.ts | 8192 → 8193 | const groupLimits: GroupLimits = { count: 256, bytes: 1024 * 1024, wai…':
    'The exact number is arbitrary.',
  'store/group-commit.ts | < → <= | for (; end < this.#waiting.length && end < this.#limits.count; end += …':
    'There is no item behind the last one, so the group is the same.',
  'store/group-commit.ts | failure === null → false | if (failure === null) return;':
    'Its error is an unhandled rejection, which fails a run of Vitest, but no test.',
  'store/group-commit.ts | busy === null → false | if (busy === null) return;':
    'With nothing that waits, the same; else its error is an unhandled rejection, which fails a run of Vitest, but no test.',
  'fleet/share.ts | < → <= | const order = (a: string, b: string): number => (a < b ? -1 : 1);':
    'Two members never have the same name.',
  'fleet/held-sources.ts | take.length === 0 → false | const taken = take.length === 0 ? [] : await store.take(take);':
    'Costs a statement that claims nothing.',
  'fleet/held-sources.ts | idle.length > 0 → true | if (idle.length > 0) await store.release(idle);':
    'Costs a statement that releases nothing.',
  'fleet/held-sources.ts | > → >= | if (idle.length > 0) await store.release(idle);':
    'Costs a statement that releases nothing.',
  'inbox/receiver.ts | 1024 → 1025 | bytes: 32 * 1024 * 1024,':
    'Bodies are counted in buffers of up to 128 KB, which hide so small a difference.',
  'inbox/receiver.ts | 1024 → 1025 | bytes: 32 * 1024 * 1024, #2':
    'Bodies are counted in buffers of up to 128 KB, which hide so small a difference.',
  "inbox/receiver.ts | request.method === 'GET' && request.url … → false | if (request.method === 'GET' && request.url === '/healthz') answerHeal…":
    'The route of the application answers the same; this answer costs half as much.',
  'inbox/receiver.ts | !settled.aborted → true | if (!settled.aborted)':
    'An error is created that the promise of the delivery no longer waits for; the check saves its cost.',
  'inbox/receiver.ts | 1024 → 1025 | maxHeaderSize: 8 * 1024,':
    'The exact size is arbitrary: real headers have less than a tenth of it.',
  'inbox/refusal.ts | 400 → 401 | cut_off: 400,': 'Its sender has disconnected, so no status is sent.',
  "dimensions/list-collections.ts | listing.kind === 'incomplete' → false | if (listing.kind === 'incomplete') return listing;":
    'Nothing reads the rows of a listing that is not complete.',
  "dimensions/list-collections.ts | typeof name === 'string' → true | return new Map(stored.map(({ id, name }) => [String(id), typeof name =…":
    'A stored name is a text or null; the check is for the type.',
  "dimensions/list-collections.ts | answer.kind === 'unavailable' → true | answer.kind === 'unavailable' ? answer.reason : 'the platform said it …":
    'Only a round that was read before is asked for with a condition, so no other answer is that it is the same.',
  "dimensions/finish-rows.ts | typeof once === 'string' → true | namesOfCompanies.get(id) ?? named.get(id)?.companyName ?? (typeof once…":
    'A stored name is a text or null, and undefined is stored as NULL like null.',
  "dimensions/round-names.ts | typeof row.name === 'string' → true | const stored = typeof row.name === 'string' ? row.name : '';":
    'Each stored round has a name; the check is for the type.',
  "dimensions/round-names.ts | typeof dated === 'string' → true | dated: typeof dated === 'string' ? dated : null,":
    'A stored date is a text or null; the check is for the type.',
  'dimensions/collections/company-updates.ts | unreadable.length === 0 → false | if (unreadable.length === 0) return [];':
    'Without a post that cannot be read, the filter after it keeps none; the check saves its cost.',
  "dimensions/lister.ts | wanted.includes('company_updates') → true | if (wanted.includes('company_updates')) needed.push(company_updates);":
    'Posts that are not listed are read for nothing, which costs time only.',
  'dimensions/listing-plan.ts | 10 → 11 | const growing = Math.min(retryMillisMax, retryMillisMin * 2 ** Math.mi…':
    'The longest wait is reached long before.',
  'dimensions/listing-plan.ts | 10 → 11 | burst === 0 ? 0 : Math.min(spacingMillisMax, 2_000 * 2 ** Math.min(bur…':
    'The longest wait is reached long before.',
  'dimensions/create-dimensions.ts | oldest === null → false | if (oldest === null) return;':
    'Without a time, the age is that of 1970, and everything is due as well; the check is for the type.',
  'dimensions/create-dimensions.ts | plan.isWaiting → false | if (plan.isWaiting) return;':
    'Two waits end at the same time, and the first one begins the listing.',
  'daemon/catalog.ts | this.#left < 0 → true | if (this.#left < 0) await this.clock.wait(-this.#left * gapMillis, sig…':
    'A wait of less than no time ends at once.',
  'daemon/catalog.ts | < → <= | if (this.#left < 0) await this.clock.wait(-this.#left * gapMillis, sig…':
    'A wait of no time ends at once.',
  'daemon/file-schedule.ts | newest === null → false | if (newest === null) return 0;':
    'Without a newest one, its age is that of 1970, which is due as well; the check is for the type.',
  'daemon/file-schedule.ts | 10 → 11 | clock.monotonic() + Math.min(retryMillisMax, retryMillisFirst * 2 ** M…':
    'The longest wait is reached long before.',
  'reading/daemon-address.ts | where === null → false | return where === null ? null : join(where.folder, `${where.prefix}${pr…':
    'With a configuration there is always a place; the check is for the type.',
  'reading/daemon-address.ts | where !== null → true | if (where !== null) await removeStale(where);':
    'With a configuration there is always a place; the check is for the type.',
  "reading/daemon-address.ts | address === 'gone' → false | if (address === 'gone') return unheard;":
    'It names no database, so a later check leaves it out; this one is for the type.',
  'reading/daemon-address.ts | text === null → false | return text === null ? null : answerOf(text, process);':
    'No answer is no JSON either; the check is for the type.',
  'reading/daemon-address.ts | text.length > answerBytesMax → false | if (text.length > answerBytesMax) request.destroy();':
    'A test would have to send 32 MB to see what it saves.',
  'reading/daemon-address.ts | 32_000_000 → 32000001 | const answerBytesMax = 32_000_000;':
    'The exact number is arbitrary.',
  'reading/daemon-address.ts | > → >= | if (text.length > answerBytesMax) request.destroy();':
    'The exact number is arbitrary.',
  'reading/listing-left.ts | continues_at === null → false | const waits = all.flatMap(({ continues_at }) => (continues_at === null…':
    'A missing time is sorted behind the others, and counts as none.',
  'reading/listing-left.ts | > → >= | one === null || longest === null ? null : one.millis > longest.millis …':
    'Of equal times, the waits are equal.',
  'reading/listing-left.ts | || → && | if (seconds_left === null || seconds_waiting === null) return joined(s…':
    'Both are known, or neither is; the check is for the type.',
  'installations/rule-follower.ts | 10 → 11 | const growing = Math.min(retryMillisMax, retryMillisMin * 2 ** Math.mi…':
    'The longest wait is reached long before.',
  'installations/rule-follower.ts | events.length === 0 → false | if (events.length === 0) return events;':
    'Without events, none is left out; the check saves a look at all rows.',
  'installations/rule-follower.ts | isNew → true | const taken = isNew ? await takenNames() : new Set<string>();':
    'The names are read for nothing, which costs time only.',
  'installations/rule-follower.ts | && → || | const isNew = list.installations.some(({ isActive, target }) => isActi…':
    'The names are read for nothing, which costs time only.',
  'installations/mint-spacing.ts | 20 → 21 | const wait = Math.min(longestWaitMillis, firstWaitMillis * 2 ** Math.m…':
    'The longest wait is reached long before.',
  "installations/source-name.ts | throw new Error('a cleaned name is the n… → ; | if (candidate === undefined) throw new Error('a cleaned name is the na…":
    'A cleaned name is the name of a source; the check is for the type.',
  'endpoint/state.ts | state.id === id → true | url: state.id === id ? state.url : null,':
    'Another endpoint than the stored one is found by its address, which the platform then shows.',
  'endpoint/state.ts | 2 → 3 | export const endpointStateText = (state: EndpointState): string => `${…':
    'How far a file for programs is indented changes nothing.',
  'daemon/scrub-job.ts | 20 → 21 | this.#retryAt = begun + Math.min(retryMillisMax, lookMillis * 2 ** Mat…':
    'The wait is limited to five minutes long before.',
  "daemon/clock-watch.ts | < → <= | `${Math.abs(aheadSeconds)} s ${aheadSeconds < 0 ? 'behind' : 'ahead of…":
    'A difference of zero is never reported.',
  'daemon/rotate-vault.ts | 50 → 51 | const sliceEntries = 50;': 'How many entries a slice has is arbitrary.',
  'daemon/rotate-vault.ts | 3_600_000 → 3600001 | const restMillis = 3_600_000;':
    'The loop looks once a minute, so a millisecond changes nothing.',
  "exports/gather.ts | text !== '' → true | if (text !== '') yield text; #2":
    'An empty piece changes no file.',
  'exports/unfinished.ts | 86_400_000 → 86400001 | const strangeMillisMax = 86_400_000;':
    'The times of files are compared, which a test can set only to fractions of a second.',
  'exports/unfinished.ts | < → <= | ({ mtimeMs }) => mtimeMs < time,':
    'The times of files are compared, which a test can set only to fractions of a second.',
  "vault/keyring.ts | first === undefined → false | if (first === undefined) throw new Error('a keyring needs a key');":
    'The configuration has a key or no encrypted vault; the check is for the type.',
  "vault/keyring.ts | throw new Error('a keyring needs a key')… → ; | if (first === undefined) throw new Error('a keyring needs a key');":
    'The configuration has a key or no encrypted vault; the check is for the type.',
  'vault/keyring.ts | bytes === undefined → false | if (bytes === undefined) throw new Error(`the keyring has no key ${id}…':
    'The first key is always there; the check is for the type.',
  'vault/keyring.ts | throw new Error(`the keyring has no key … → ; | if (bytes === undefined) throw new Error(`the keyring has no key ${id}…':
    'The first key is always there; the check is for the type.',
  'vault/encrypted-vault.ts | this.#loading === loading → true | if (this.#loading === loading) this.#loading = undefined;':
    'The keys are read once more, which costs time only.',
  'exports/write-file.ts | 8 → 9 | const unfinished = `${unfinishedStart(file)}${randomText(random, 8)}`;':
    'How long a random text is, is arbitrary.',
  'vault/encrypted-vault.ts | 8 → 9 | const me = `${holder}:${randomText(random, 8)}`;':
    'How long a random text is, is arbitrary.',
  'store/backup/private-target.ts | 86_400_000 → 86400001 | const strangeMillisMax = 86_400_000;':
    'The times of files are compared, which a test can set only to fractions of a second.',
  'store/backup/private-target.ts | < → <= | if (space !== processSpace()) return (statOf(path)?.mtimeMs ?? Number.…':
    'The times of files are compared, which a test can set only to fractions of a second.',
  'store/backup/private-target.ts | statOf(file) !== null → true | if (statOf(file) !== null) rmSync(file, { force: true });':
    'A file that is not there is nothing to remove; the check is for paths below a file.',
  'daemon/backups.ts | <= → < | if (newest !== null && clock.now() - newest <= everyMillis) parts.anno…':
    'At that moment the next one is made, which is announced.',
  'exports/lake/lock.ts | 60_000 → 60001 | const aliveMillis = 60_000;':
    'The times of files are compared, which a test can set only to fractions of a second.',
  'exports/lake/lock.ts | 12 → 13 | const token = randomText(random, 12);':
    'How long a random text is, is arbitrary.',
  'exports/lake/lock.ts | !(await linked(own, path)) → true | if (!(await linked(own, path))) await takeOver(own, path, token);':
    'A lock that is not there is taken over as one without its text is; the first try spares three operations.',
  'exports/lake/lock.ts | > → >= | return written === null || Math.abs(systemClock.now() - written.mtimeM…':
    'The times of files are compared, which a test can set only to fractions of a second.',
  'vault/entry-key.ts | 120 → 121 | throw new Fault(\'usage\', `"${printable(key.slice(0, 120))}" cannot nam…':
    'How much of a key that is too long a message shows, is arbitrary.',
  "vault/file-vault.ts | 200 → 201 | const triedText = 'x'.repeat(200);":
    'How large the file is that is tried, is arbitrary.',
  'vault/file-vault.ts | this.#writing.get(key) === settled → false | if (this.#writing.get(key) === settled) this.#writing.delete(key);':
    'A settled write that is kept costs memory only.',
  'tasks/erasure-steps.ts | 30_000 → 30001 | const busyTimeoutMillis = 30_000;':
    'The attempts are 200 ms apart, so a millisecond changes nothing.',
  'installations/installation-follower.ts | > → >= | if (wasUnsure && installations.length > 0) passOn(installations);':
    'A message without installations has no effect.',
  'installations/installation-follower.ts | signal.aborted → false | if (signal.aborted) return 0;':
    'The requests of a daemon that stops fail at once.',
  'installations/installation-follower.ts | < → <= | if (this.#hasSwept || clock.monotonic() < this.#sweepFrom) return;':
    'The next turn is after that moment, or at it and again at once.',
  'installations/installation-follower.ts | !isDone → true | if (!isDone) this.#sweepFrom = clock.monotonic() + idleMillis;':
    'Left tokens may wait a minute.',
  'store/plan-collection.ts | before !== null → true | if (before !== null) writes.push({ sql: `DELETE FROM ${table} WHERE ${…':
    'A new row has no stored one that the statement would delete.',
  'store/plan-collection.ts | 2_000 → 2001 | const eventsLookedAt = 2_000;':
    'How much of the inbox a start reads is arbitrary.',
  'store/reads/judge-source.ts | last_tick_at === null → false | if (last_tick_at === null) return true;':
    'A time that cannot be read is overdue as well; the check is for the type.',
  'store/quarantine-body.ts | 3 → 4 | .subarray(0, bytesMax - 3)':
    'How much is left for the character that replaces a cut one is arbitrary.',
  "store/quarantine-body.ts | || → && | if (typeof record !== 'object' || record === null || Array.isArray(rec…":
    'A list is told apart by its elements as well as by its text.',
  "store/quarantine-body.ts | || → && | if (typeof record !== 'object' || record === null || Array.isArray(rec… #2":
    'A list is told apart by its elements as well as by its text.',
  'store/erase-source.ts | 2_000 → 2001 | const usualSizes: SliceSizes = { rowsPerCommit: 2_000, numbersPerSlice…':
    'How many rows a commit of an erasure deletes is arbitrary.',
  'store/erase-source.ts | 20_000 → 20001 | const usualSizes: SliceSizes = { rowsPerCommit: 2_000, numbersPerSlice…':
    'How many numbers a commit of an erasure searches is arbitrary.',
  'store/erase-source.ts | min === null || max === null → false | if (min === null || max === null) return 0;':
    'Without rows a slice is looked through and none is found; the check is for the type.',
  'store/erase-source.ts | || → && | if (min === null || max === null) return 0;':
    'Without rows a slice is looked through and none is found; the check is for the type.',
  'store/erase-source.ts | < → <= | for (let after = min - 1; after < max; ) {':
    'No row has a number above the last one.',
  'store/inbox.ts | 3_600_000 → 3600001 | const hourMillis = 3_600_000;':
    'An event may be kept for a second longer.',
  'store/inbox.ts | 72 → 73 | export const inboxKeepMillis = (72 + 24) * hourMillis;':
    'An event may be kept for an hour longer.',
  'store/inbox.ts | 24 → 25 | export const inboxKeepMillis = (72 + 24) * hourMillis;':
    'An event may be kept for an hour longer.',
  'store/inbox.ts | source === null → false | source === null ? [] : [{ lane: source as Lane, events, dueAt: dueAt a…':
    'An event without sources is never pending; the check is for the type.',
  'store/inbox.ts | nos.length === 0 → false | if (nos.length === 0) return;':
    'Without it, an update that changes no row.',
  'store/inbox.ts | 300 → 301 | const rowBytes = 300;': 'It estimates what a row takes.',
  'store/source-row.ts | > → >= | return { at: last !== null && last > now ? last : now, now };':
    'When both are equal, either is the same time.',
  'store/budgets.ts | || → && | row.fixed_start == null || row.fixed_spent == null':
    'Both columns are written together; the check is for the type.',
  "store/dimensions.ts | typeof value === 'string' → true | const textOrNull = (value: unknown): string | null => (typeof value ==…":
    'The databases return a text or null.',
  'store/phase.ts | halted_from === null || halted_code === … → false | if (halted_from === null || halted_code === null || halted_message ===…':
    'A halt writes all of its columns; the check is for the type.',
  'store/phase.ts | || → && | if (halted_from === null || halted_code === null || halted_message ===…':
    'A halt writes all of its columns; the check is for the type.',
  'store/phase.ts | || → && | if (halted_from === null || halted_code === null || halted_message ===… #2':
    'A halt writes all of its columns; the check is for the type.',
  'store/phase.ts | || → && | if (halted_from === null || halted_code === null || halted_message ===… #3':
    'A halt writes all of its columns; the check is for the type.',
  'store/phase.ts | throw new Error(`source ${source.name} i… → ; | throw new Error(`source ${source.name} is halted without a recorded re…':
    'A halt writes all of its columns; the check is for the type.',
  'store/dialect/sqlite/accept-deliveries.ts | !raw.inTransaction → true | if (!raw.inTransaction) throw error;':
    'The group commit then tries each delivery by itself.',
  'store/dialect/sqlite/round-labels.ts | 5_000 → 5001 | const rowsPerTurn = 5_000;':
    'How many rows a turn reads is arbitrary.',
  'store/dialect/sqlite/round-labels.ts | no === undefined → false | if (no === undefined) return least;':
    'No row belongs to a source without a number; the check is for the type.',
  'store/dialect/sqlite/dimensions.ts | !(error instanceof MustBeDurable) → false | if (!(error instanceof MustBeDurable)) throw error;':
    'The second attempt fails like the first.',
  'store/dialect/sqlite/dimensions.ts | throw error; → ; | if (!(error instanceof MustBeDurable)) throw error;':
    'The second attempt fails like the first.',
  "store/dialect/sqlite/delivery-journal.ts | > → >= | if (this.#bytes + text.length > bytesMax) throw new Error('the journal…":
    'A journal may be a byte shorter.',
  'store/dialect/sqlite/delivery-journal.ts | > → >= | while (this.#rows.length > rowsAtOnce) {':
    'The rows that are left are moved behind the loop.',
  'store/dialect/sqlite/delivery-journal.ts | this.#descriptor !== undefined → false | if (this.#descriptor !== undefined) return this.#descriptor;':
    'A second descriptor of the file appends as well.',
  'store/dialect/sqlite/delivery-journal.ts | throw error; → ; | throw error; #2':
    'Writing to the closed file fails as well.',
  'store/dialect/sqlite/delivery-journal.ts | < → <= | for (let from = 0; from < lines.length; from += rowsAtOnce) {':
    'No line is left, so nothing is moved.',
  'store/dialect/sqlite/delivery-journal.ts | rows.length > 0 → true | if (rows.length > 0) yield rows;':
    'Storing no row changes nothing.',
  'store/dialect/sqlite/delivery-journal.ts | > → >= | if (rows.length > 0) yield rows;':
    'Storing no row changes nothing.',
  'store/dialect/sqlite/commit.ts | investor != null → true | if (investor != null) this.#erasing.deactivated(investor);':
    'No row has null as its investor, so nothing is erased; the check is for the type.',
  'store/dialect/sqlite/commit.ts | investor != null → true | if (investor != null) this.#erasing.deactivated(investor); #2':
    'No row has null as its investor, so nothing is erased; the check is for the type.',
  'store/dialect/sqlite/commit.ts | indexed → true | const investorOf = (id: string) => (indexed ? (this.statements.investo…':
    'Without the index, the investor is found by reading all rows.',
  'store/dialect/sqlite/commit.ts | items === page.items → false | return items === page.items ? page : readPage(items);':
    'Reading the same entries again gives the same page.',
  "store/dialect/sqlite/commit.ts | had → true | if (had) this.#erasing.source('grant_lost');":
    'Without a grant no identity is stored, so nothing is erased.',
  'store/dialect/sqlite/commit.ts | this.source.awaiting_deletion === 0 || i… → false | if (this.source.awaiting_deletion === 0 || ids.length === 0) return;':
    'No mark is found, so none is removed.',
  'store/dialect/sqlite/commit.ts | || → && | if (this.source.awaiting_deletion === 0 || ids.length === 0) return;':
    'No mark is found, so none is removed.',
  'store/dialect/sqlite/commit.ts | found.unknownFields.size > 0 → true | if (found.unknownFields.size > 0) {':
    'Counting no field changes nothing.',
  'store/dialect/sqlite/commit.ts | > → >= | if (found.unknownFields.size > 0) {':
    'Counting no field changes nothing.',
  'store/dialect/sqlite/commit.ts | this.source.quarantined > 0 → true | if (this.source.quarantined > 0)':
    'No entry is open, so none is resolved.',
  'store/dialect/sqlite/commit.ts | > → >= | if (this.source.quarantined > 0)':
    'No entry is open, so none is resolved.',
  'store/dialect/sqlite/commit.ts | this.#changes.length >= changesPerCall → true | if (this.#changes.length >= changesPerCall) this.#queueNotices();':
    'How many changes are drafted at once changes no notice.',
  'store/dialect/sqlite/commit.ts | this.#changes.length >= changesPerCall → false | if (this.#changes.length >= changesPerCall) this.#queueNotices();':
    'How many changes are drafted at once changes no notice.',
  'store/dialect/sqlite/commit.ts | >= → > | if (this.#changes.length >= changesPerCall) this.#queueNotices();':
    'How many changes are drafted at once changes no notice.',
  'store/dialect/sqlite/commit.ts | this.wantsNotices → true | if (this.wantsNotices)':
    'Without hooks, no notice is drafted of what is collected.',
  'store/dialect/sqlite/commit.ts | changes.length === 0 → false | if (changes.length === 0) return;':
    'Of no change, no notice is drafted.',
  'store/dialect/sqlite/listing.ts | received.removes → false | if (received.removes) buildIdIndex(statements.raw);':
    'Without the index, the rows are found by reading all of them.',
  'store/dialect/sqlite/listing.ts | source.quarantined > 0 → true | if (source.quarantined > 0) {':
    'No entry is open, so none is changed.',
  'store/dialect/sqlite/listing.ts | source.quarantined > 0 → true | if (source.quarantined > 0) { #2':
    'No entry is open, so none is changed.',
  'store/dialect/sqlite/listing.ts | > → >= | if (source.quarantined > 0) {':
    'No entry is open, so none is changed.',
  'store/dialect/sqlite/listing.ts | > → >= | if (source.quarantined > 0) { #2':
    'No entry is open, so none is changed.',
  "store/dialect/sqlite/listing.ts | rowNo === undefined → false | if (rowNo === undefined) throw new Error('a listed record was neither …":
    'A record that is not inserted has a row already; the check is for the type.',
  "store/dialect/sqlite/listing.ts | throw new Error('a listed record was nei… → ; | if (rowNo === undefined) throw new Error('a listed record was neither …":
    'A record that is not inserted has a row already; the check is for the type.',
  'store/dialect/sqlite/listing.ts | statements.anyStaged.get(source.no) !== … → true | if (statements.anyStaged.get(source.no) !== undefined)':
    'Nothing is staged, so nothing is taken out.',
  "store/dialect/sqlite/listing.ts | listing.kind !== prepared.kind → false | if (listing.kind !== prepared.kind) throw new Error('another kind of l…":
    'Both are of one source under one lease; the check finds bugs.',
  "store/dialect/sqlite/listing.ts | throw new Error('another kind of listing… → ; | if (listing.kind !== prepared.kind) throw new Error('another kind of l…":
    'Both are of one source under one lease; the check finds bugs.',
  'store/dialect/sqlite/listing.ts | source.awaiting_deletion > 0 → true | else if (source.awaiting_deletion > 0) commit.unmarkAll();':
    'No mark is found, so none is removed.',
  'store/dialect/sqlite/listing.ts | > → >= | else if (source.awaiting_deletion > 0) commit.unmarkAll();':
    'No mark is found, so none is removed.',
  'store/dialect/sqlite/listing.ts | totalsDiffer → true | if (totalsDiffer) recomputeTotals(statements.raw, source.no);':
    'Totals that are right are the same when they are computed again.',
  'store/dialect/sqlite/identity-eraser.ts | this.#people.has(investor) → false | if (this.#people.has(investor)) return;':
    'What is erased already is not found again.',
  'store/dialect/sqlite/identity-eraser.ts | this.#records.size + this.#people.size >… → true | if (this.#records.size + this.#people.size > 0) this.#blankBodies();':
    'No body names one of no ids.',
  'store/dialect/sqlite/identity-eraser.ts | > → >= | if (this.#records.size + this.#people.size > 0) this.#blankBodies();':
    'No body names one of no ids.',
  'store/dialect/sqlite/log-pages.ts | !frame.subarray(8, 16).equals(salts) → false | if (!frame.subarray(8, 16).equals(salts)) return pages;':
    'Pages of an earlier round of the log are overwritten once more.',
  'store/dialect/sqlite/idle-checkpoints.ts | 30 → 31 | export const pauseMillis = 30;':
    'How long a pause is, is arbitrary.',
  'store/dialect/sqlite/idle-checkpoints.ts | 32 → 33 | export const commitsMin = 32;':
    'How many commits a checkpoint waits for is arbitrary.',
  'store/dialect/sqlite/idle-checkpoints.ts | 4_096 → 4097 | export const logPagesMax = 4_096;':
    'How long the log gets is arbitrary.',
  'store/dialect/sqlite/idle-checkpoints.ts | 512 → 513 | const listingPagesMax = 512;':
    'How long the log gets is arbitrary.',
  "store/dialect/sqlite/idle-checkpoints.ts | raw.open && !raw.inTransaction → true | if (raw.open && !raw.inTransaction) raw.pragma('wal_checkpoint(PASSIVE…":
    'SQLite refuses the checkpoint then, which is caught.',
  "store/dialect/sqlite/idle-checkpoints.ts | && → || | if (raw.open && !raw.inTransaction) raw.pragma('wal_checkpoint(PASSIVE…":
    'SQLite refuses the checkpoint then, which is caught.',
  'store/pauses.ts | 1_000 → 1001 | const chunk = 1_000;': 'How many names a statement has is arbitrary.',
  'store/dialect/sqlite/overwrite-unused.ts | 1_000 → 1001 | const pagesAtLast = 1_000;':
    'How many pages the last pass overwrites at most is arbitrary.',
  'store/dialect/sqlite/overwrite-unused.ts | 50 → 51 | const passesMax = 50;':
    'How often a scrub begins again is arbitrary.',
  'store/dialect/sqlite/overwrite-unused.ts | < → <= | for (let pass = 0; pass < passesMax; pass += 1) {':
    'How often a scrub begins again is arbitrary.',
  'store/dialect/sqlite/overwrite-unused.ts | <= → < | const isLast = suspects !== null && suspects.size <= pagesAtLast;':
    'How many pages the last pass overwrites at most is arbitrary.',
  'store/dialect/sqlite/overwrite-unused.ts | suspects === null → true | if (suspects === null) pages.overwriteAll(roots);':
    'All pages are overwritten again, which takes longer.',
  'store/dialect/sqlite/identity-eraser.ts | matches.length > 0 → true | if (matches.length > 0) this.#blank(blank, { nos: JSON.stringify(match…':
    'No number is listed, so no body is blanked.',
  'store/dialect/sqlite/identity-eraser.ts | > → >= | if (matches.length > 0) this.#blank(blank, { nos: JSON.stringify(match…':
    'No number is listed, so no body is blanked.',
  'store/dialect/sqlite/erasures.ts | id === null || at === null → false | return new Map(rows.flatMap(({ id, at }) => (id === null || at === nul…':
    'The statement selects neither; the check is for the type.',
  'store/dialect/sqlite/erasures.ts | || → && | return new Map(rows.flatMap(({ id, at }) => (id === null || at === nul…':
    'The statement selects neither; the check is for the type.',
  "store/dialect/sqlite/erasures.ts | row === undefined → false | if (row === undefined) throw new Error('a query without FROM returned …":
    'Such a query has one row; the check is for the type.',
  "store/dialect/sqlite/erasures.ts | throw new Error('a query without FROM re… → ; | if (row === undefined) throw new Error('a query without FROM returned …":
    'Such a query has one row; the check is for the type.',
  'store/dialect/sqlite/swap.ts | removed.length > 0 → true | if (removed.length > 0) raw.prepare(planRemovals).run(JSON.stringify(r…':
    'Of no number, no removal is planned.',
  'store/dialect/sqlite/swap.ts | > → >= | if (removed.length > 0) raw.prepare(planRemovals).run(JSON.stringify(r…':
    'Of no number, no removal is planned.',
  'store/dialect/sqlite/swap.ts | commit.wantsNotices → true | if (commit.wantsNotices) collectNotices(commit, prepare(sql.changesOfP…':
    'Without hooks, no notice is drafted of what is collected.',
  'store/dialect/sqlite/swap.ts | < → <= | for (let last = 0; last < rows; last += rowsPerUpdate)':
    'Behind the last row of the plan there is none to replace.',
  'store/dialect/sqlite/swap.ts | < → <= | for (let last = 0; last < total; last += changesPerCall)':
    'Behind the last change of the plan there is none to collect.',
  'store/dialect/sqlite/swap.ts | 10_000 → 10001 | const rowsPerUpdate = 10_000;':
    'How many rows one statement replaces is arbitrary.',
  'store/dialect/sqlite/mirror.ts | this.#checkpoints === undefined → true | return this.#checkpoints === undefined ? store() : this.#checkpoints.o…':
    'The log gets longer, which costs room only.',
  "store/dialect/sqlite/mirror.ts | prepared.kind === 'first' → false | return await helpers.step(prepared.kind === 'first' ? () => sortingInF…":
    'Sorting in memory costs memory only.',
  "store/dialect/sqlite/mirror.ts | error instanceof MustBeDurable → true | if (error instanceof MustBeDurable) return this.#commitAs('durable', l…":
    'The second attempt fails like the first.',
  'store/dialect/sqlite/mirror.ts | released !== null → true | if (released !== null) this.#released.set(released, lease.fence);':
    'No source has null as its number.',
  'store/dialect/sqlite/mirror.ts | <= → < | if (ends && isOwn && current.expires_at <= instantFromMillis(now)) ret…':
    'A lease that ends at this very moment is written once more.',
  "store/dialect/sqlite/delta.ts | item.kind === 'record' → true | const step = item.kind === 'record' ? planReread(commit.storedRow(item…":
    'Tombstones were left out before; the check is for the type.',
  'fleet/fleet.ts | 2_000 → 2001 | export const beatMillis = 2_000;':
    'How often heartbeats are sent is arbitrary.',
  'fleet/fleet.ts | dead.length > 0 → true | if (dead.length > 0) await store.markDead(dead.map(({ member }) => mem…':
    'Costs a statement that marks no member.',
  'fleet/fleet.ts | > → >= | if (dead.length > 0) await store.markDead(dead.map(({ member }) => mem…':
    'Costs a statement that marks no member.',
  'fleet/fleet.ts | > → >= | const orphaned = members.some((member) => member.holds > 0 && !alive.i…':
    'Costs a look at the shares.',
  'fleet/fleet.ts | < → <= | const [first] = [...alive].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : …':
    'Two members never have the same name.',
  'fleet/fleet.ts | stopping.signal.aborted → false | if (stopping.signal.aborted) continue;':
    'Each wait of a loop that stops ends at once.',
  'store/dialect/sqlite/purge.ts | 2_000 → 2001 | const rowsPerTransaction = 2_000;':
    'How many rows a commit deletes is arbitrary.',
  'store/dialect/sqlite/purge.ts | 20_000 → 20001 | const rowsLookedAt = 20_000;':
    'How many rows a scan reads is arbitrary.',
  'store/dialect/sqlite/purge.ts | changes < rowsPerTransaction → true | return changes + (changes < rowsPerTransaction ? purgeCatalog(raw, bef…':
    'The rest is purged in the same commit, not in the next one.',
  'store/dialect/sqlite/purge.ts | < → <= | return changes + (changes < rowsPerTransaction ? purgeCatalog(raw, bef…':
    'The rest is purged in the same commit, not in the next one.',
  'store/dialect/sqlite/purge.ts | last != null → true | if (last != null) raw.prepare(forgetValuesSql).run(before, after, last…':
    'No number is compared with null, so nothing is forgotten.',
  'store/dialect/sqlite/purge.ts | > → >= | const scan = `SELECT tick, started_at FROM tick_rows WHERE tick > ? OR…':
    'The last row of the slice before is looked at once more.',
};
