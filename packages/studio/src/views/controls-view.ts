import type { Phase } from '../state/state.js'
import { element, elementOf, setText } from './page.js'

/** What decides which controls a person can use. */
interface Controls {
  readonly phase: Phase
  /** A session runs or is starting. */
  readonly isRunning: boolean
  readonly isMuted: boolean
  readonly hasModel: boolean
  /** There is something to export. */
  readonly hasRun: boolean
  /** A cassette is open, whose position can be chosen. */
  readonly hasCassette: boolean
}

export const renderControls = ({ phase, isRunning, isMuted, hasModel, hasRun, hasCassette }: Controls): void => {
  const isOpen = isRunning && phase !== 'finalizing'
  const enable = (isEnabled: boolean, ...ids: readonly string[]): void => {
    for (const id of ids) element(id).toggleAttribute('disabled', !isEnabled)
  }
  enable(!isRunning && hasModel, 'start', 'play-sample')
  enable(isOpen, 'finalize')
  enable(isRunning, 'stop')
  enable(isOpen && phase !== 'connecting', 'cut')
  enable(isOpen && !isMuted, 'mute')
  enable(!isRunning, 'open-cassette', 'source-sample', 'source-microphone', 'source-file', 'model')
  setText(element('mute'), isOpen && isMuted ? 'Muted' : 'Mute 15 s')
  element('export').hidden = !hasRun
  element('scrub-label').hidden = !hasCassette
}

/** Calls the action of a key, unless the element with the focus uses the key itself. */
export const listenToKeys = (actions: Readonly<Record<string, () => void>>): void => {
  document.addEventListener('keydown', (event) => {
    const { target, key } = event
    if (event.ctrlKey || event.metaKey || event.altKey || elementOf(HTMLDialogElement, 'keys').open) return
    if (target instanceof HTMLElement && target.matches('input:not([type=checkbox]), select')) return
    const isControl = target instanceof HTMLElement && target.matches('button, a, summary, input')
    if (isControl && (key === ' ' || key === 'Enter')) return
    const act = actions[key.toLowerCase()]
    if (act === undefined) return
    event.preventDefault()
    act()
  })
}
