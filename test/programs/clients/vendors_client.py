# Calls of the Python clients of OpenAI, ElevenLabs and Cartesia that only one of them has. Prints what their users get.
#     vendors_client.py URL KEY KEY_WITH_A_QUOTA
import json
import sys
import urllib.request

from cartesia import Cartesia
from elevenlabs.client import ElevenLabs
from openai import OpenAI

url, key, limited = sys.argv[1:4]
quick = 'Hello there.'


def eleven(api_key=key):
    return ElevenLabs(base_url=url, api_key=api_key)


def say(voice='tone-low', path='/v1'):
    client = OpenAI(base_url=url + path, api_key=key)
    return len(client.audio.speech.create(model='tts-1', voice=voice, input=quick).read())


def convert(text=quick, api_key=key):
    return sum(map(len, eleven(api_key).text_to_speech.convert('tone-low', text=text)))


def realtime(form):
    speech = eleven().text_to_speech
    return sum(map(len, speech.convert_realtime('tone-low', text=iter([quick]), model_id='eleven_v2', output_format=form)))


def search(**filters):
    found = eleven().voices.search(**filters)
    return [found.total_count, [voice.voice_id for voice in found.voices]]


def headers():
    with eleven().text_to_speech.with_raw_response.convert('tone-low', text=quick) as answer:
        size = sum(map(len, answer.data))
        return [size > 0, answer.headers['request-id'], answer.headers['character-cost']]


LINES = [{'text': 'Hello there.', 'voice_id': 'tone-low'}, {'text': 'Hi.', 'voice_id': 'tone-high'}]


def dialogue(lines=LINES, api_key=key):
    return sum(map(len, eleven(api_key).text_to_dialogue.convert(inputs=lines)))


def dialogue_times():
    whole = eleven().text_to_dialogue.convert_with_timestamps(inputs=LINES)
    pieces = list(eleven().text_to_dialogue.stream_with_timestamps(inputs=LINES))
    spoken = [[segment.voice_id, ''.join(whole.alignment.characters[segment.character_start_index:segment.character_end_index])]
              for segment in whole.voice_segments]
    return [spoken, len(whole.audio_base_64), sum(len(piece.audio_base_64) for piece in pieces)]


def dictionary():
    rule = {'type': 'alias', 'string_to_replace': 'there', 'alias': 'there and everywhere else', 'case_sensitive': False}
    dictionaries = eleven().pronunciation_dictionaries
    made = dictionaries.create_from_rules(name='Words', rules=[rule])
    found = dictionaries.get(made.id)
    locator = {'pronunciation_dictionary_id': made.id, 'version_id': made.version_id}
    said = sum(map(len, eleven().text_to_speech.convert('tone-low', text=quick, pronunciation_dictionary_locators=[locator])))
    names = [each.name for each in dictionaries.list().pronunciation_dictionaries]
    return [found.rules[0].alias, names, said / convert()]


def wrong_dictionary():
    locator = {'pronunciation_dictionary_id': 'nothing', 'version_id': '1'}
    return sum(map(len, eleven().text_to_speech.convert('tone-low', text=quick, pronunciation_dictionary_locators=[locator])))


def with_token():
    token = Cartesia(base_url=url, api_key=key).access_token.create(grants={'tts': True}, expires_in=60).token
    output = {'container': 'wav', 'encoding': 'pcm_s16le', 'sample_rate': 24000}
    voice = {'mode': 'id', 'id': 'tone-low'}
    client = Cartesia(base_url=url, token=token)
    said = len(client.tts.generate(model_id='sonic-3', transcript=quick, voice=voice, output_format=output).read())
    try:
        return [said, len(client.voices.list().data)]
    except Exception as error:
        return [said, error.status_code]


def own_voice():
    made = {'voice_id': 'mine', 'name': 'Mine', 'bindings': [{'engine': 'tone', 'voice_id': 'tone-low'}]}
    headers = {'X-API-Key': key, 'Content-Type': 'application/json'}
    urllib.request.urlopen(urllib.request.Request(url + '/api/voices', json.dumps(made).encode(), headers))
    voices = Cartesia(base_url=url, api_key=key).voices
    changed = voices.update('mine', name='Ours', gender='feminine')
    owned = [voice.id for voice in voices.list(is_owner=True, expand=['preview_file_url'])]
    voices.delete('mine')
    return [changed.name, changed.gender, owned, [voice.id for voice in voices.list(is_owner=True)]]


def clone():
    return Cartesia(base_url=url, api_key=key).voices.clone(clip=b'RIFF', name='Me', language='en').id


calls = {
    'openai alloy': lambda: say('alloy'),
    'openai without /v1': lambda: say(path=''),
    'elevenlabs realtime, wrong format': lambda: realtime('mp3_1_1'),
    'user': lambda: eleven(limited).user.get().subscription.character_limit,
    'subscription': lambda: eleven(limited).user.subscription.get().character_count,
    'all voices': search,
    'own voices': lambda: search(voice_type='personal'),
    'voices by id': lambda: search(voice_ids=['tone-high']),
    'preview': lambda: len(urllib.request.urlopen(eleven().voices.get('tone-low').preview_url).read()),
    'token': lambda: len(eleven().tokens.single_use.create('tts_websocket').token),
    'headers': headers,
    'dialogue': dialogue,
    'dialogue times': dialogue_times,
    'dialogue, wrong voice': lambda: dialogue([*LINES, {'text': 'No.', 'voice_id': 'nobody'}]),
    'dictionary': dictionary,
    'dictionary, wrong id': wrong_dictionary,
    'access token': with_token,
    'own voice': own_voice,
    'clone': clone,
    'quota, too long: dialogue': lambda: dialogue(api_key=limited, lines=[{'text': quick, 'voice_id': 'tone-low'}] * 2),
}
results = {}
for name, call in calls.items():
    try:
        results[name] = call()
    except Exception as error:  # Each client has its own classes.
        body = getattr(error, 'body', None)
        results[name] = [type(error).__name__, getattr(error, 'status_code', None), json.dumps(body) if body else str(error)]
print(json.dumps(results))
