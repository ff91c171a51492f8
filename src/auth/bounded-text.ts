import { map, reduce, type Observable } from 'rxjs'

/** The most that is read of an answer of a token endpoint. */
export const maxAnswerBytes = 64 * 1024

/** Reads a whole body as UTF-8 text, once; `tooBig` is the error beyond `maxBytes`, and no more is read then. */
export function boundedText(body$: Observable<Uint8Array>, maxBytes: number, tooBig: () => Error): Observable<string> {
  return body$.pipe(
    reduce<Uint8Array, Read>(
      ({ decoder, text, size }, bytes) => {
        if (size + bytes.byteLength > maxBytes) throw tooBig()
        return { decoder, text: text + decoder.decode(bytes, { stream: true }), size: size + bytes.byteLength }
      },
      { decoder: new TextDecoder(), text: '', size: 0 },
    ),
    map(({ decoder, text }) => text + decoder.decode()),
  )
}

interface Read {
  readonly decoder: TextDecoder
  readonly text: string
  readonly size: number
}
