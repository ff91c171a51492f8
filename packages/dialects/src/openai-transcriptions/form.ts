import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyInstance } from '@fastify/busboy'
import { invalidField, OpenAiError } from '../openai-errors/openai-error.js'
import { incompleteUpload } from '../conversation/upload-error.js'
import { Upload, type UploadBounds } from '../conversation/upload.js'

/** The parts of a form, with all values of each field in their order. */
export interface UploadForm {
  readonly fields: ReadonlyMap<string, readonly string[]>
  readonly file: Upload
}

const limits = {
  fieldNameSize: 100,
  fieldSize: 16_384,
  fields: 200,
  files: 1,
  parts: 201,
  headerPairs: 20,
  headerSize: 4_096,
} as const

/**
 * More than two reads of a socket. The parser never continues after a part that it skips, such as one without a name,
 * if that has filled this buffer.
 */
const partBufferBytes = 262_144

/** Reads a multipart form with one file, `file`, in any place. Nothing is stored when it rejects. */
export const readUploadForm = async (
  request: IncomingMessage,
  { maxBytes, signal }: UploadBounds,
): Promise<UploadForm> => {
  const parser = openParser(request)
  const fields = new Map<string, string[]>()
  let receiving: Readable | undefined
  let stored: Promise<Upload> | undefined
  try {
    await new Promise<void>((resolve, reject) => {
      parser.on('field', (name, value, isNameCut, isCut) => {
        if (isNameCut || isCut) {
          reject(invalidField(name, `The field ${name} has at most ${limits.fieldSize} bytes.`))
          return
        }
        const values = fields.get(name) ?? []
        fields.set(name, [...values, value])
      })
      parser.on('file', (name, source) => {
        if (name !== 'file') {
          source.resume()
          reject(invalidField(name, `There is no file ${name}; send the recording as file.`, 'unknown_parameter'))
          return
        }
        receiving = source
        stored = Upload.store(source, maxBytes)
        stored.catch(reject)
      })
      parser.on('filesLimit', () => reject(invalidField('file', 'Send one file.')))
      for (const event of ['partsLimit', 'fieldsLimit'] as const) {
        parser.on(event, () => reject(invalidField('file', `Send at most ${limits.fields} fields.`)))
      }
      parser.on('finish', resolve)
      parser.on('error', (error) => reject(notMultipart(error)))
      for (const event of ['error', 'close'] as const) {
        request.once(event, () => {
          if (!request.complete) reject(incompleteUpload())
        })
      }
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
      request.pipe(parser)
    })
    const file = await stored
    if (file === undefined) throw invalidField('file', 'Send the recording as file.', 'missing_required_parameter')
    return { fields, file }
  } catch (error) {
    request.unpipe(parser)
    // Also ends what is stored.
    receiving?.destroy()
    parser.destroy()
    stored?.then((file) => file.remove()).catch(() => undefined)
    throw error
  }
}

const openParser = (request: IncomingMessage): BusboyInstance => {
  const { 'content-type': contentType = '' } = request.headers
  if (!/^multipart\/form-data\b/i.test(contentType)) throw notMultipart(undefined)
  try {
    const headers = { ...request.headers, 'content-type': contentType }
    return new Busboy({ headers, limits, fileHwm: partBufferBytes })
  } catch (error) {
    throw notMultipart(error)
  }
}

const notMultipart = (cause: unknown): OpenAiError => {
  const error = new OpenAiError(400, 'The body must be multipart/form-data with its boundary.', 'invalid_body')
  error.cause = cause
  return error
}
