import type { Machine } from 'rxspeech/internal/kernel/machine'
import { sessionOf } from './settings.js'
import { noSpeech } from './speech.js'
import type { RealtimeAction, RealtimeInput, RealtimeOutput, RealtimeSession, RealtimeState } from './state.js'
import { RealtimeStep } from './step.js'

/** A transcription session: turns what a client sends into recognitions, and their results into items. */
export const realtimeMachine = (
  session: RealtimeSession,
): Machine<RealtimeState, RealtimeInput, RealtimeOutput, RealtimeAction> => ({
  start: {
    state: {
      name: 'live',
      settings: session.settings,
      recognition: { name: 'none' },
      speech: noSpeech(`item_${session.sessionId.replaceAll('-', '').slice(0, 16)}_`),
      originMs: 0,
      takenMs: 0,
      early: new Uint8Array(),
      hasSettings: false,
    },
    outputs: [
      { type: 'event', event: { type: 'session.created', session: sessionOf(session.sessionId, session.settings) } },
    ],
    effects: [
      { lifetime: 'session', action: { type: 'converse' } },
      { lifetime: 'session', action: { type: 'listen' } },
    ],
  },
  reduce: (state, input) =>
    state.name === 'ended' ? { state } : new RealtimeStep(state, input.audioMs, session).take(input),
  alive: (state) =>
    lifetimes[state.name === 'ended' ? 'ended' : state.recognition.name === 'running' ? 'running' : 'waiting'],
  result: (state) => (state.name === 'ended' ? state.result : undefined),
})

const lifetimes = {
  running: new Set(['session', 'running']),
  waiting: new Set(['session']),
  ended: new Set<string>(),
} as const
