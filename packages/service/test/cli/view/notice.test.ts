import { describe, expect, it } from 'vitest'
import { noticeOf } from '../../../src/cli/view/notice.js'
import type { SessionEvent } from '../../../../../src/protocol/session-event.js'

const rows: readonly (readonly [SessionEvent, string])[] = [
  [
    {
      type: 'connection',
      state: 'reconnecting',
      attempt: 2,
      delayMs: 1240,
      bufferedMs: 100,
      cause: 'connection-lost',
    },
    'rxspeech: no connection (connection-lost); attempt 2 in 1.2 s.',
  ],
  [
    { type: 'resumed', replayedMs: 1500, channel: 1 },
    'rxspeech: connected again; 1.5 s of audio of right are sent again.',
  ],
  [{ type: 'silent', forMs: 20_000 }, 'rxspeech: the service has sent nothing for 20.0 s.'],
  [
    { type: 'gap', fromMs: 1000, toMs: 2500, cause: 'failed' },
    'rxspeech: the audio from 00:01.0 to 00:02.5 has no result: the session failed.',
  ],
  [
    { type: 'event', name: 'SR No Match', channel: 1, startMs: 1000, endMs: 2500, tags: [], data: null },
    'rxspeech: the sound from 00:01.0 to 00:02.5 of right matches nothing that the model knows.',
  ],
  [
    {
      type: 'event',
      name: 'Audio Warning',
      channel: 1,
      startMs: 1600,
      endMs: -1,
      tags: [],
      data: { Kind: 'clipping', Message: 'The audio is clipped;\u001b[2J lower the gain.' },
    },
    'rxspeech: warning about the audio of right: The audio is clipped; [2J lower the gain.',
  ],
  [
    {
      type: 'event',
      name: 'Audio Warning',
      channel: 1,
      startMs: 32_000,
      endMs: -1,
      tags: [],
      data: { Kind: 'dead-channel', Message: 'Channel 1 has a signal now.', Over: true },
    },
    'rxspeech: about the audio of right: Channel 1 has a signal now.',
  ],
]
const quiet: readonly SessionEvent[] = [
  { type: 'event', name: 'Audio Warning', channel: 0, startMs: 1, endMs: -1, tags: [], data: 'of another service' },
  { type: 'connection', state: 'streaming' },
  { type: 'event', name: 'Speech Ended', channel: 0, startMs: 1, endMs: 2, tags: [], data: null },
  {
    type: 'ledger',
    capturedMs: 1,
    finalizedMs: 1,
    pendingMs: 0,
    replayedPendingMs: 0,
    droppedMs: 0,
    sentMs: 1,
    estimated: false,
  },
]

describe('noticeOf', () => {
  it.each(rows)('reports %j in one line', (event, line) => {
    expect(noticeOf(event, ['left', 'right'])).toBe(line)
  })

  it('names no channel if there is only one', () => {
    const lost = { type: 'silent', forMs: 20_000, channel: 0 } as const
    expect(noticeOf(lost, [])).toBe('rxspeech: the service has sent nothing for 20.0 s.')
  })

  it.each(quiet)('reports nothing for %j', (event) => {
    expect(noticeOf(event, ['left', 'right'])).toBeUndefined()
  })
})
