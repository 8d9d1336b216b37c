# Dictionaries, strings and JSON; the argument is the number of keys in thousands.
import json
import sys

keys = int(sys.argv[1]) * 1000
data = {f"key {i}": [i, str(i) * (i % 7), {"next": i + 1}] for i in range(keys)}
for i in range(0, keys, 3):
    data[f"key {i}"] = None
text = json.dumps(data)
again = json.loads(text)
words = sorted(again, key=lambda word: word[::-1])
print(len(text), again == data, words[keys // 2])
