import type { Job } from './jobs/job.js'
import type { Library } from './library/library.js'
import type { NewSessions } from './new-sessions.js'
import type { CaptionsView } from './views/captions-view.js'
import { listenToKeys } from './views/controls-view.js'
import type { Cursor } from './views/cursor.js'
import { listenToDrops, listenToFiles } from './views/file-input.js'
import { listenToDrawer, listenToToggle } from './views/layout.js'
import { showStart } from './views/navigation.js'
import { element, elementOf } from './views/page.js'
import type { PlayerView } from './views/player-view.js'

/** What a person acts on. */
interface Actors {
  /** The session that is shown. */
  readonly shown: () => Job | undefined
  readonly newSessions: NewSessions
  readonly cursor: Cursor
  readonly player: PlayerView
  readonly captions: CaptionsView
  readonly library: Library
  readonly useToken: () => void
  readonly draw: () => void
}

const muteMs = 15_000

/** What a person can do: the buttons, files that are chosen or dropped, and the keys. */
export const listenToActions = (actors: Actors): void => {
  const { shown, newSessions, cursor, player, captions, library, useToken, draw } = actors
  const withShown = (act: (job: Job) => void) => (): void => {
    const job = shown()
    if (job !== undefined) act(job)
  }
  const cut = withShown((job) => job.cut())
  const finish = withShown((job) => job.finish())
  const showKeys = (): void => elementOf(HTMLDialogElement, 'keys').showModal()
  const onClick = (id: string, act: () => void): void => element(id).addEventListener('click', () => act())
  onClick('choose-files', () => element('file').click())
  onClick('open-cassette', () => element('cassette').click())
  onClick('speak', () => newSessions.speak())
  onClick('play-sample', () => newSessions.playSample())
  onClick(
    'proposal-take',
    withShown((job) => newSessions.againBetter(job)),
  )
  onClick(
    'retry',
    withShown((job) => newSessions.again(job)),
  )
  onClick('finalize', finish)
  onClick(
    'cancel',
    withShown((job) => job.cancel()),
  )
  onClick(
    'stop',
    withShown((job) => {
      job.stop()
      player.pause()
    }),
  )
  onClick('cut', cut)
  onClick(
    'mute',
    withShown((job) => job.mute(muteMs)),
  )
  onClick('help', showKeys)
  element('token-form').addEventListener('submit', useToken)
  for (const id of ['file', 'cassette']) listenToFiles(id, (files) => newSessions.open(files))
  listenToDrops((files) => newSessions.open(files))
  listenToDrawer()
  const togglePanel = listenToToggle('panel-toggle', 'panel', (isOn) => {
    element('panel').hidden = !isOn
    element('session-view').classList.toggle('with-panel', isOn)
    draw()
  })
  const toggleTimes = listenToToggle('times', 'times', (isOn) => element('lines').classList.toggle('with-times', isOn))

  /** Goes on, or stops: what it does depends on what is there. */
  const space = (): void => {
    const job = shown()
    if (job === undefined) newSessions.playSample()
    else if (job.isUnfinished && job.origin !== 'file') job.finish()
    else player.toggle()
  }
  const correct = (): void => {
    const { word } = cursor
    const at = word && captions.elementOf(word)
    if (word !== undefined && at !== undefined) library.correct(word, at)
  }
  listenToKeys([
    { key: ' ', shown: 'Space', what: 'Play, pause, or finish speaking', act: space },
    { key: 'j', shown: 'J, L', what: 'Jump 5 seconds back or ahead', act: () => player.jump(-1) },
    { key: 'l', act: () => player.jump(1) },
    { key: '<', shown: '<, >', what: 'Play slower or faster', act: () => player.changeSpeed(-1) },
    { key: '>', act: () => player.changeSpeed(1) },
    { key: 'arrowleft', shown: '← →', what: 'Move from word to word', act: () => cursor.move(-1) },
    { key: 'arrowright', act: () => cursor.move(1) },
    { key: 'enter', shown: 'Enter', what: 'Play the word', act: () => cursor.playWord() },
    { key: 'f2', what: 'Correct the word', act: correct },
    { key: 'c', what: 'Copy the line', act: () => library.copyLine() },
    { key: '/', what: 'Find in the transcript', act: () => library.openFind() },
    { key: 't', what: 'Show or hide the times', act: toggleTimes },
    { key: 'i', what: 'Show or hide the instruments', act: togglePanel },
    { key: 'n', what: 'New transcript', act: showStart },
    { key: 'f', what: 'Finish: wait for the last words', act: finish },
    { key: 'x', what: 'Cut the line', act: cut },
    { key: '?', what: 'Show the keys', act: showKeys },
  ])
}
