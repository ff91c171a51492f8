import type { IncomingMessage, ServerResponse } from 'node:http'
import { urlOf } from 'rxspeech-server/listen/upgrade-request'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { sessionReport, type StandInSession } from './session.js'

/** What tests in other languages read instead of `sessions`. */
const reportPath = '/stand-in/sessions'

export const nothingHere = (names: readonly string[]): string =>
  `This stand-in has nothing at this path. It stands for ${names.join(', ')}; its report is at ${reportPath}.`

/**
 * Answers `GET /stand-in/sessions` with the facts of all sessions, and `/stand-in/sessions/1?from=0&to=16000` with those
 * of one and the hash of these samples. Any other path is an error that says so.
 */
export const answerReport = (
  request: IncomingMessage,
  response: ServerResponse,
  sessions: readonly StandInSession[],
  names: readonly string[],
): void => {
  const url = urlOf(request)
  const send = (status: number, body: object): void => {
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(`${JSON.stringify(body)}\n`)
  }
  if (url?.pathname === reportPath) {
    send(200, { sessions: sessions.map(sessionReport) })
    return
  }
  const [, number] = /^\/stand-in\/sessions\/(\d+)$/.exec(url?.pathname ?? '') ?? []
  const session = sessions[Number(number) - 1]
  if (url === undefined || session === undefined) {
    send(404, {
      error: { message: nothingHere(names) },
    })
    return
  }
  const { audio } = session
  const from = Number(url.searchParams.get('from') ?? 0)
  const to = Number(url.searchParams.get('to') ?? audio.samples)
  try {
    send(200, { ...sessionReport(session), from, to, sha256: audio.hash(from, to) })
  } catch (error) {
    send(400, { error: { message: isSpeechError(error) ? error.message : 'The range cannot be read.' } })
  }
}
