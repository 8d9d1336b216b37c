// Work for a compiler: templates of the standard library, instantiated many
// times over.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

template <int N> struct record {
	std::array<int, N + 1> values;
	std::map<std::string, std::vector<std::pair<int, std::array<char, N + 1>>>> index;
	std::unordered_map<std::string, std::unique_ptr<std::array<long, N + 2>>> owned;

	int work(const std::string &name)
	{
		auto &list = index[name];
		list.push_back({N, {}});
		std::sort(list.begin(), list.end());
		owned[name] = std::make_unique<std::array<long, N + 2>>();
		std::function<int(int)> add = [this](int x) { return x + values[0]; };
		return std::accumulate(values.begin(), values.end(), add(N)) + static_cast<int>(list.size());
	}
};

template <int... N> int all(const std::string &name, std::integer_sequence<int, N...>)
{
	return (record<N>{}.work(name) + ...);
}

int main(int argc, char **argv)
{
	return all(argv[argc - 1], std::make_integer_sequence<int, INSTANCES>{});
}
