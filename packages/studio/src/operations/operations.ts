import {
  catchError,
  defer,
  EMPTY,
  finalize,
  fromEvent,
  merge,
  startWith,
  switchMap,
  takeWhile,
  tap,
  timer,
  type Observable,
} from 'rxjs'
import { fetchOfService, type StudioConfig } from '../session/config.js'
import { sentenceOf } from '../state/sentences.js'
import { elementOf, element, setText } from '../views/page.js'
import { Charts, renderTables } from './charts.js'
import { renderFigures } from './figures.js'
import { operationsFigures } from './prometheus.js'
import { groupings, joinReports, type Grouping, type OperationsReport } from './report.js'
import { renderSlowSessions } from './slow-sessions.js'

const figuresEveryMs = 2_000
const reportEveryMs = 10_000

/** What was seen of the service before, also over a restart of it. */
let known: OperationsReport | undefined

/** Shows the operations of the service until it is unsubscribed, or the page is hidden. */
export const showOperations = (config: StudioConfig, isShown: () => boolean): Observable<unknown> => {
  const { metrics, operations } = config
  if (typeof metrics !== 'string' || typeof operations !== 'string') {
    showError(
      'This page may not read the metrics of the service. Open the page at its operations address, which is the option "operations" of the service.',
    )
    return EMPTY
  }
  return defer(() => {
    element('hour').hidden = false
    const charts = new Charts(element('hour-charts'))
    const draw = (): void => {
      if (known === undefined) return
      const by = grouping()
      charts.render(known, by)
      renderSlowSessions(known.sessions, Date.now())
      if (elementOf(HTMLDetailsElement, 'hour-numbers').open) renderTables(known, by)
    }
    const figures$ = polled(metrics, figuresEveryMs, isShown, (response) => response.text()).pipe(
      tap((text) => renderFigures(operationsFigures(text))),
    )
    const report$ = polled(
      operations,
      reportEveryMs,
      isShown,
      (response) => response.json() as Promise<OperationsReport>,
    ).pipe(tap((report) => (known = joinReports(known, report))))
    const chosen$ = merge(fromEvent(element('hour-by'), 'change'), fromEvent(element('hour-numbers'), 'toggle'))
    return merge(figures$, merge(report$, chosen$).pipe(startWith(undefined), tap(draw))).pipe(
      finalize(() => charts.destroy()),
    )
  })
}

/** Reads an address again and again. A fault is shown until the next answer. */
const polled = <A>(
  url: string,
  everyMs: number,
  isShown: () => boolean,
  read: (response: Response) => Promise<A>,
): Observable<A> =>
  timer(0, everyMs).pipe(
    takeWhile(isShown),
    switchMap(() =>
      defer(async () => {
        const response = await fetchOfService(url, { cache: 'no-store' })
        if (!response.ok) throw new Error(`The service answers ${response.status}.`)
        return read(response)
      }).pipe(
        tap(() => showError(undefined)),
        catchError((error: unknown) => {
          showError(`The figures are not updated: ${sentenceOf(error)}`)
          return EMPTY
        }),
      ),
    ),
  )

const grouping = (): Grouping =>
  groupings.find((each) => elementOf(HTMLInputElement, `hour-by-${each}`).checked) ?? 'all'

const showError = (sentence: string | undefined): void => {
  element('operations-error').hidden = sentence === undefined
  setText(element('operations-error'), sentence ?? '')
}
