import type { ServerResponse } from 'node:http'
import type { Dialect, DialectClient, NamedModel } from 'rxspeech-server/listen/dialect'
import { readRecording } from '../conversation/recording.js'
import { transcribe, type RecordingListener, type Transcription } from '../conversation/transcribe.js'
import { invalidField, modelNotFound, refuseAsOpenAi } from '../openai-errors/openai-error.js'
import { streamTranscription } from './event-stream.js'
import { readUploadForm } from './form.js'
import { writeTranscription, type Written } from './formats.js'
import { readOptions } from './options.js'

/** The longest recording, in milliseconds. */
const maxDurationMs = 4 * 3_600_000

/** `POST /v1/audio/transcriptions` and `GET /v1/models` of the OpenAI interface. */
export const openAiTranscriptions: Dialect = {
  name: 'openai-transcriptions',
  routes: [
    {
      method: 'POST',
      path: /^\/v1\/audio\/transcriptions$/,
      answer: answerTranscription,
    },
    {
      method: 'GET',
      path: /^\/v1\/models$/,
      answer: async ({ models }, response) => {
        const names = new Map(models.map((model) => [model.name, modelOf(model)]))
        await sendJson(response, { object: 'list', data: [...names.values()] })
      },
    },
    {
      method: 'GET',
      path: /^\/v1\/models\/[^/]+$/,
      answer: async ({ url, findModel }, response) => {
        const name = nameIn(url)
        const model = findModel(name)
        if (model === undefined) throw modelNotFound(name)
        await sendJson(response, { ...modelOf(model), id: name })
      },
    },
  ],
  sockets: [],
  refuse: refuseAsOpenAi,
}

async function answerTranscription(client: DialectClient, response: ServerResponse): Promise<void> {
  const { file, fields } = await readUploadForm(client.request)
  try {
    const options = readOptions(fields)
    const model = client.findModel(options.model)
    if (model === undefined) throw modelNotFound(options.model)
    const { sampleRateHz, audio } = await readRecording(file.read())
    // The request is complete, and nothing may be sent before the end; the limits of the session remain.
    response.setTimeout(0)
    const request = {
      audioFormat: 'pcm',
      sampleRateHz,
      modelName: model.name,
      modelTenant: model.tenant,
      gracefulSilenceThresholdMs: 0,
      ...options.parameters,
    } as const
    const conversation = await client.converse({ isRecording: true })
    const bounded = upTo(audio, (maxDurationMs * sampleRateHz) / 500)
    const run = (listener?: RecordingListener): Promise<Transcription> =>
      transcribe(conversation, request, bounded, listener)
    if (options.isStreamed) await streamTranscription(response, run)
    else await send(response, await writeTranscription(await run(), options))
  } finally {
    await file.remove()
  }
}

/** A small file can be hours of audio, such as one of µ-law at a low rate. */
async function* upTo(audio: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array, undefined> {
  let byteCount = 0
  for await (const part of audio) {
    byteCount += part.length
    if (byteCount > maxBytes) {
      throw invalidField('file', `The recording is longer than ${maxDurationMs / 3_600_000} hours; send it in parts.`)
    }
    yield part
  }
}

const modelOf = ({ name, tenant }: NamedModel) => ({ id: name, object: 'model', created: 0, owned_by: tenant })

const nameIn = ({ pathname }: URL): string => {
  const name = pathname.slice(pathname.lastIndexOf('/') + 1)
  try {
    return decodeURIComponent(name)
  } catch {
    throw invalidField('model', 'The address has no valid name of a model.')
  }
}

const sendJson = (response: ServerResponse, body: object): Promise<void> =>
  send(response, { contentType: 'application/json', body: JSON.stringify(body) })

const send = (response: ServerResponse, { contentType, body }: Written): Promise<void> =>
  new Promise((resolve) => {
    response.writeHead(200, { 'Content-Type': contentType, 'Content-Length': Buffer.byteLength(body) })
    response.end(body, resolve)
    response.once('close', resolve)
  })
