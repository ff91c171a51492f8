import { serveLink } from 'rxspeech-server/listen/serve-link'
import type { Dialect, DialectClient } from 'rxspeech-server/listen/dialect'
import { invalidField, modelNotFound, OpenAiError, refuseAsOpenAi } from '../openai-errors/openai-error.js'
import { serveRealtime } from './session.js'
import { defaultSettings, type SessionSettings } from './settings.js'

/** Transcription sessions of `/v1/realtime` of the OpenAI interface. */
export const openAiRealtime: Dialect = {
  name: 'openai-realtime',
  requestIdHeader: 'x-request-id',
  routes: [
    {
      method: 'POST',
      path: /^\/v1\/realtime\/(client_secrets|transcription_sessions|sessions)$/,
      answer: () => Promise.reject(noSecrets()),
    },
  ],
  sockets: [
    {
      path: /^\/v1\/realtime$/,
      accept: async (client) => {
        const settings = settingsOf(client)
        const conversation = await client.converse({ isUnpaced: true, reportsSpeech: true })
        return (socket) =>
          serveLink(
            socket,
            (incoming$, link) => serveRealtime(incoming$, link, { client, settings, conversation }),
            client,
          ).subscribe()
      },
    },
  ],
  refuse: refuseAsOpenAi,
}

/** The query of the address, which names the model and the kind of session. */
const settingsOf = ({ url, findModel }: DialectClient): SessionSettings => {
  const { model, intent, ...others } = Object.fromEntries(url.searchParams)
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) {
    throw invalidField(unknown, `${unknown} is not known here; omit it from the address.`, 'unknown_parameter')
  }
  for (const [name, value] of url.searchParams) {
    if (value !== url.searchParams.get(name)) throw invalidField(name, `Send ${name} once.`)
  }
  if (intent !== undefined && intent !== 'transcription') {
    throw invalidField('intent', 'intent must be "transcription".')
  }
  if (model !== undefined && findModel(model) === undefined) throw modelNotFound(model)
  return { ...defaultSettings, model }
}

const noSecrets = (): OpenAiError =>
  new OpenAiError(
    404,
    'There are no client secrets here. A page gets its own short token from the token endpoint, by your server, and presents it as the API key.',
    'not_supported',
  )
