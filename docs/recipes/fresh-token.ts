// One token for many sessions, renewed before it expires, and at once when the service refuses it.
//
//   npm run build && npx ts-node docs/recipes/fresh-token.ts
//
// In an app, `requestToken` sends the requests. Here a counter replaces it, and the days pass in virtual time.

import { defer, of, Subject, tap, VirtualTimeScheduler } from 'rxjs'
import { keepFresh, type Token } from 'rxspeech'

const clock = new VirtualTimeScheduler(undefined, Infinity)
const dayMs = 24 * 3_600_000
const at = (): string => `day ${String(Math.floor(clock.now() / dayMs)).padStart(3)}`

let requests = 0
const request$ = defer(() => {
  requests += 1
  const token: Token = { accessToken: `token ${requests}`, tokenType: 'Bearer', expiresAtMs: clock.now() + 365 * dayMs }
  return of(token)
}).pipe(tap(({ accessToken }) => console.log(`${at()}  requested ${accessToken}`)))

// Pass the same Subject to the sessions as `rejected$`: they emit each token that the service refuses.
const rejected$ = new Subject<Pick<Token, 'accessToken'>>()
const token$ = request$.pipe(keepFresh({ rejected$, scheduler: clock }))

// Any number of sessions can share this token: `recognize({ token: token$, rejected$, … })`.
const first = token$.subscribe(({ accessToken }) => console.log(`${at()}  first session has ${accessToken}`))
const second = token$.subscribe(({ accessToken }) => console.log(`${at()}  second session has ${accessToken}`))

clock.schedule(() => rejected$.next({ accessToken: 'token 1' }), 100 * dayMs)
clock.schedule(() => {
  first.unsubscribe()
  second.unsubscribe()
}, 500 * dayMs)
clock.flush()
console.log(`${requests} requests in 500 days`)
