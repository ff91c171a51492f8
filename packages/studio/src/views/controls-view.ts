import type { Job } from '../jobs/job.js'
import { create, element, elementOf, setText } from './page.js'

/** Enables the instruments that the session can use. */
export const renderControls = ({ status, state, run, origin }: Job): void => {
  const isRunning = status.type === 'running' && run?.live !== undefined
  const isOpen = isRunning && state.phase !== 'finalizing'
  const isMuted = run?.live?.isMuted() === true
  const enable = (isEnabled: boolean, id: string): void => void element(id).toggleAttribute('disabled', !isEnabled)
  enable(isOpen && state.phase !== 'connecting', 'cut')
  enable(isOpen && !isMuted, 'mute')
  enable(isRunning, 'stop')
  element('mute').hidden = origin === 'file'
  setText(element('mute'), isOpen && isMuted ? 'Muted' : 'Mute 15 s')
  element('scrub-label').hidden = run?.played === undefined
}

/** What a key does. */
export interface KeyAction {
  /** As `KeyboardEvent.key` names it, in small letters. */
  readonly key: string
  /** As a person reads it; absent if another entry of the list names it. */
  readonly shown?: string
  readonly what?: string
  readonly act: () => void
}

/** Calls the action of a key, unless the element with the focus uses the key itself; lists the keys in the dialog. */
export const listenToKeys = (actions: readonly KeyAction[]): void => {
  element('keys-list').append(
    ...actions.flatMap(({ key, shown = key.toUpperCase(), what }) =>
      what === undefined ? [] : [create('dt', { text: shown }), create('dd', { text: what })],
    ),
  )
  document.addEventListener('keydown', (event) => {
    const { target, key } = event
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    if (elementOf(HTMLDialogElement, 'keys').open) return
    if (!(target instanceof HTMLElement)) return
    if (target.matches('input:not([type=checkbox]), select, textarea') || target.isContentEditable) return
    if (target.closest('dialog') !== null) return
    const isControl = target.matches('button, a, summary, input')
    if (isControl && (key === ' ' || key === 'Enter')) return
    const action = actions.find((other) => other.key === key.toLowerCase())
    if (action === undefined) return
    event.preventDefault()
    action.act()
  })
}
