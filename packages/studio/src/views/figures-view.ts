import type { LedgerAccount } from 'rxspeech'
import { incidentSentence, secondsText } from '../state/sentences.js'
import type { StudioState } from '../state/state.js'
import { ledgerOfNow, ledgerShares } from './ledger-shares.js'
import { create, element, setList, setText } from './page.js'

const classes = { finalized: 'finalized', pending: 'pending', 'sent again': 'again', dropped: 'dropped' } as const

/** The session in figures, and the ledger of its audio. */
export class FiguresView {
  readonly #figures = element('figures')
  readonly #bar = element('ledger-bar')
  readonly #legend = element('ledger-legend')
  readonly #total = element('ledger-total')
  readonly #incident = element('incident')

  constructor() {
    for (const [name, className] of Object.entries(classes)) {
      this.#bar.append(create('i', { className }))
      this.#legend.append(create('li', {}, create('i', { className }), create('span', { text: name }), create('b')))
    }
  }

  render(state: StudioState, { nowMs, capturedMs, isKept }: Moment): void {
    element('no-figures').hidden = !isKept
    for (const part of [this.#figures, element('ledger-title'), this.#bar, this.#legend]) part.hidden = isKept
    const account = ledgerOfNow(state.ledger ?? nothing, capturedMs)
    setList(this.#figures, figuresOf(state, nowMs, account))
    const { total, shares } = ledgerShares(account)
    const channels = state.channels.length > 1 ? ` on ${state.channels.length} channels` : ''
    setText(this.#total, `${total}${channels}${state.isLedgerEstimated ? ', estimated' : ''}`)
    for (const [index, { share, text }] of shares.entries()) {
      const [part, entry] = [this.#bar.children[index], this.#legend.children[index]?.lastElementChild]
      if (part instanceof HTMLElement) part.style.width = `${share * 100}%`
      if (entry instanceof HTMLElement) setText(entry, text)
    }
    const incident = state.incidents.at(-1)
    setText(this.#incident, incident === undefined ? '' : incidentSentence(incident, state.phase === 'ended'))
  }
}

interface Moment {
  readonly nowMs: number
  /** The audio of a session that captures some, of all channels together. */
  readonly capturedMs: number
  /** A session that the browser kept has no figures. */
  readonly isKept: boolean
}

const nothing = { capturedMs: 0, finalizedMs: 0, pendingMs: 0, replayedPendingMs: 0, droppedMs: 0, sentMs: 0 }
const none = '–'

const milliseconds = (ms: number | undefined): string => (ms === undefined ? none : `${Math.round(ms)} ms`)
const seconds = (ms: number | undefined): string => (ms === undefined ? none : secondsText(ms))

const figuresOf = (
  { metrics, tokenExpiresAtMs }: StudioState,
  nowMs: number,
  { pendingMs, replayedPendingMs }: LedgerAccount,
): readonly (readonly [string, string])[] => [
  ['First partial', milliseconds(metrics?.timeToFirstPartialMs)],
  ['Speech to milestone', milliseconds(metrics?.speechToMilestoneMs)],
  ['Lag', seconds(metrics?.lagMs)],
  ['Buffered', seconds(metrics && pendingMs + replayedPendingMs)],
  ['Reconnects', metrics === undefined ? none : String(metrics.reconnects)],
  ['Token', tokenExpiresAtMs === undefined ? none : lifetime(tokenExpiresAtMs - nowMs)],
]

const lifetime = (ms: number): string =>
  ms <= 0
    ? 'expired'
    : ms < 120_000
      ? `${Math.round(ms / 1000)} s`
      : ms < 7_200_000
        ? `${Math.round(ms / 60_000)} min`
        : `${Math.round(ms / 3_600_000)} h`
